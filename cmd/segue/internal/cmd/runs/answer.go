package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/approval"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// answerFlags are the flags of segue answer.
type answerFlags struct {
	reason string

	arguments string // other arguments of the call that is approved, as JSON
	edit      bool   // have them changed in the editor
}

// answerRecord is what segue answer did, in the form json.
type answerRecord struct {
	Run    string         `json:"run"`
	Answer *machine.Reply `json:"answer"`  // null: nothing was answered
	AtWork bool           `json:"at_work"` // a process works on the run, and takes the answer in a moment
	Waits  []machine.Wait `json:"waits"`   // what the run waited for; of one whose question is not known only id, run and kind
}

func answerCommand(c *cli.CLI) *cobra.Command {
	f := &answerFlags{}
	cmd := storeCommand{
		Command: &cobra.Command{
			Use:   "answer [flags] RUN [[WAIT] yes|no|TEXT]",
			Short: "Answer what a run waits for",
			Long: `Answer answers something that a run waits for: an approval with yes or no, a question with a text. It works whether or not
a process works on the run. If one does, it takes the answer within a second or so; else the answer waits until segue resume
goes on with the run.

With RUN alone it shows what the run waits for, each with its id. WAIT is that id, or the beginning of it; it may be left out
where the run waits for one thing. For a question with numbered options the number of an option is an answer, as any text is. The
first answer to a wait counts, and a second one is refused.

With --edit you change the arguments of a call in your editor, which VISUAL or EDITOR names, and approve it so; --arguments gives
them as JSON. The call is made with them, and the model is shown the call as it was made. RUN is the id of a run, or the beginning of it.`,
			Example: `  segue answer 019a5c
  segue answer 019a5c yes
  segue answer 019a5c 3f no --reason "Not that file"
  segue answer 019a5c 77 "As a table, please"
  segue answer 019a5c --edit
  segue answer 019a5c yes --arguments '{"to": "staging"}'`,
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) < 1 || len(args) > 3 {
					return errors.New("answer takes a RUN, perhaps a WAIT, and an answer; put a text of several words in quotes; see segue answer --help")
				}
				_, err := f.withYes(args)
				return err
			},
		}, output: textOrObject, statuses: []checkpoint.Status{checkpoint.StatusWaiting, checkpoint.StatusRunning},
		do: func(ctx context.Context, at *kept, args []string) (found, error) { return answer(ctx, c, f, at, args) },
	}.command(c)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why not; the model reads it; only with no")
	cmd.Flags().StringVar(&f.arguments, "arguments", "", "approve the call with these arguments, a `JSON` object, instead of its own")
	cmd.Flags().BoolVar(&f.edit, "edit", false, "change the arguments of the call in your editor, and approve it so")
	cmd.MarkFlagsMutuallyExclusive("edit", "arguments")
	return cmd
}

// answer executes segue answer.
func answer(ctx context.Context, c *cli.CLI, f *answerFlags, at *kept, args []string) (found, error) {
	args, err := f.withYes(args)
	if err != nil {
		return found{}, err
	}
	view, err := runview.Read(ctx, at, at.head)
	if err != nil {
		return found{}, cli.Failed(err)
	}
	r := answerRecord{Run: at.key().Run, AtWork: cli.AtWork(&at.head, time.Now()), Waits: view.Waits}
	if len(args) > 1 {
		if r.Answer, err = give(ctx, c, f, at, view, args[1:]); err != nil {
			return found{}, err
		}
	}
	return found{r, r.text(view, at.RunStore)}, nil
}

// give answers a wait: the one that is named before the answer, or the only one.
func give(ctx context.Context, c *cli.CLI, f *answerFlags, at *kept, view *runview.View, args []string) (*machine.Reply, error) {
	w, err := chooseWait(view.Waits, args[:len(args)-1], at.again("answer"))
	if err != nil {
		return nil, err
	}
	reply, err := replyTo(w, args[len(args)-1], f.reason)
	if err != nil {
		return nil, err
	}
	if first := view.ReplyTo(w.ID); first != nil {
		return nil, cli.Failed(fmt.Errorf("wait %s was answered already, with %s, and the first answer counts; go on with: %s, or end the run with: %s",
			shortID(view.Waits, w.ID), replyText(first), at.again("resume"), at.again("stop")))
	}
	if err := changeCall(ctx, c, f, w, view, &reply); err != nil {
		return nil, err
	}
	if err := at.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error { return o.Answer(ctx, at.key(), reply) }); err != nil {
		return nil, cli.Failed(err)
	}
	return &reply, nil
}

// chooseWait returns the wait that an answer is for.
func chooseWait(waits []machine.Wait, named []string, again string) (machine.Wait, error) {
	var ids []string
	var found []machine.Wait
	for _, w := range waits {
		ids = append(ids, shortID(waits, w.ID))
		if len(named) == 0 || named[0] != "" && strings.HasPrefix(w.ID, named[0]) {
			found = append(found, w)
		}
	}
	switch {
	case len(waits) == 0:
		return machine.Wait{}, cli.Failed(errors.New("the run waits for nothing"))
	case len(found) == 1:
		return found[0], nil
	case len(named) == 0:
		return machine.Wait{}, fmt.Errorf("the run waits for %d things: say for which the answer is, with one of: %s; %s shows them", len(waits), strings.Join(ids, ", "), again)
	default:
		return machine.Wait{}, fmt.Errorf("the run waits for nothing that is called %s alone; it waits for: %s", plaintext.Visible(named[0]), strings.Join(ids, ", "))
	}
}

// shortID returns the beginning of a wait's id that no other wait has.
func shortID(waits []machine.Wait, id string) string {
	for n := 4; n < len(id); n++ {
		if !slices.ContainsFunc(waits, func(w machine.Wait) bool { return w.ID != id && strings.HasPrefix(w.ID, id[:n]) }) {
			return id[:n]
		}
	}
	return id
}

// replyTo makes the reply to a wait.
func replyTo(w machine.Wait, answer, reason string) (machine.Reply, error) {
	r := machine.Reply{WaitID: w.ID, Reason: reason}
	if w.Kind != machine.WaitApproval && w.Kind != machine.WaitUnknown {
		if strings.TrimSpace(answer) == "" {
			return r, errors.New("the answer is empty")
		}
		if reason != "" {
			return r, errors.New("--reason is for the no to an approval")
		}
		chosen, problem := approval.Choose(answer, w.Options)
		if problem != "" {
			return r, errors.New(strings.ToLower(problem[:1]) + strings.TrimSuffix(problem[1:], "."))
		}
		r.Text = chosen
		return r, nil
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		if reason != "" {
			return r, errors.New("--reason is for a no")
		}
		r.Approve = true
		return r, nil
	case "n", "no":
		return r, nil
	default:
		return r, fmt.Errorf("%s is answered by yes or no", w.Kind)
	}
}

// replyText says in a few words what a reply says.
func replyText(r *machine.Reply) string {
	switch {
	case r.Text != "":
		return strconv.Quote(plaintext.Head(plaintext.OneLine(r.Text), goalColumns))
	case r.Arguments != "":
		return "yes, with other arguments"
	case r.Approve:
		return "yes"
	default:
		return "no" + plaintext.Colon(plaintext.Head(plaintext.OneLine(r.Reason), goalColumns))
	}
}

// waitLines shows what a run waits for, each wait with its id and the answer that was posted.
func waitLines(waits []machine.Wait, view *runview.View) []string {
	var lines []string
	for _, w := range waits {
		lines = append(lines, "wait "+shortID(waits, w.ID))
		for _, line := range terminal.DescribeWhole(w) {
			lines = append(lines, line.Text)
		}
		if r := view.ReplyTo(w.ID); r != nil {
			lines = append(lines, "  answered with "+replyText(r)+", which the run takes when it goes on")
		}
	}
	return lines
}

// text says what the run waits for, or what comes of an answer.
func (r *answerRecord) text(view *runview.View, st *cli.RunStore) string {
	switch {
	case r.Answer == nil && len(r.Waits) == 0:
		return "the run waits for nothing\n"
	case r.Answer == nil:
		return strings.Join(waitLines(r.Waits, view), "\n") + "\n\n" + howToAnswer(st, r.Run, r.Waits, view) + "\n"
	case r.AtWork:
		return "answered; the process that works on the run takes it in a moment\n"
	default:
		return "answered; go on with: " + st.Command("resume", r.Run) + "\n"
	}
}

// howToAnswer is the command line with which a waiting run goes on: that of an answer, or of a
// resume if everything was answered.
func howToAnswer(st *cli.RunStore, run string, waits []machine.Wait, view *runview.View) string {
	open, ask := 0, false
	for _, w := range waits {
		if view.ReplyTo(w.ID) == nil {
			open++
			ask = ask || w.Kind != machine.WaitApproval && w.Kind != machine.WaitUnknown
		}
	}
	if open == 0 || view.Stopping() {
		return "go on with: " + st.Command("resume", run)
	}
	words := "yes|no"
	if ask {
		words = "yes|no|TEXT"
	}
	if len(waits) > 1 {
		words = "WAIT " + words
	}
	return "answer with: " + st.Command("answer", run) + " " + words
}
