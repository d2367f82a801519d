package main

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
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// answerFlags are the flags of segue answer.
type answerFlags struct {
	store  storeFlag
	form   choice
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

func (c *cli) answerCommand() *cobra.Command {
	f := &answerFlags{form: oneOf(formText, formJSON)}
	cmd := &cobra.Command{
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
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.answer(cmd.Context(), f, args) },
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", "why not; the model reads it; only with no")
	cmd.Flags().StringVar(&f.arguments, "arguments", "", "approve the call with these arguments, a `JSON` object, instead of its own")
	cmd.Flags().BoolVar(&f.edit, "edit", false, "change the arguments of the call in your editor, and approve it so")
	cmd.MarkFlagsMutuallyExclusive("edit", "arguments")
	f.form.offer(cmd, "output", "a text to read, or a JSON object")
	f.store.offer(cmd)
	cmd.ValidArgsFunction = c.completeRuns(&f.store, checkpoint.StatusWaiting, checkpoint.StatusRunning)
	return cmd
}

// answer executes segue answer.
func (c *cli) answer(ctx context.Context, f *answerFlags, args []string) error {
	args, err := f.withYes(args)
	if err != nil {
		return err
	}
	st, err := c.openRuns(ctx, &f.store)
	if err != nil {
		return err
	}
	defer st.close()
	head, err := st.find(ctx, args[0])
	if err != nil {
		return err
	}
	view, err := runview.Read(ctx, st, head)
	if err != nil {
		return failed(err)
	}
	record := answerRecord{Run: head.Key.Run, AtWork: atWork(&head, time.Now()), Waits: view.Waits}
	if len(args) > 1 {
		w, err := chooseWait(view.Waits, args[1:len(args)-1], st.command("answer", head.Key.Run))
		if err != nil {
			return err
		}
		reply, err := replyTo(w, args[len(args)-1], f.reason)
		if err != nil {
			return err
		}
		if first := view.ReplyTo(w.ID); first != nil {
			return failed(fmt.Errorf("wait %s was answered already, with %s, and the first answer counts; go on with: %s, or end the run with: %s",
				shortID(view.Waits, w.ID), replyText(first), st.command("resume", head.Key.Run), st.command("stop", head.Key.Run)))
		}
		if err := c.change(ctx, f, w, view, &reply); err != nil {
			return err
		}
		if err := st.post(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error { return o.Answer(ctx, head.Key, reply) }); err != nil {
			return failed(err)
		}
		record.Answer = &reply
	}
	if f.form.value == formJSON {
		return encode(c.stdout, record)
	}
	return c.showAnswer(&record, view, st)
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
		return machine.Wait{}, failed(errors.New("the run waits for nothing"))
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

// showAnswer says what the run waits for, or what comes of an answer.
func (c *cli) showAnswer(r *answerRecord, view *runview.View, st *runStore) error {
	switch {
	case r.Answer == nil && len(r.Waits) == 0:
		return write(c.stdout, "the run waits for nothing\n")
	case r.Answer == nil:
		return write(c.stdout, strings.Join(waitLines(r.Waits, view), "\n")+"\n\n"+st.howToAnswer(r.Run, r.Waits, view)+"\n")
	case r.AtWork:
		return write(c.stdout, "answered; the process that works on the run takes it in a moment\n")
	default:
		return write(c.stdout, "answered; go on with: "+st.command("resume", r.Run)+"\n")
	}
}

// howToAnswer is the command line with which a waiting run goes on: that of an answer, or of a
// resume if everything was answered.
func (st *runStore) howToAnswer(run string, waits []machine.Wait, view *runview.View) string {
	open, ask := 0, false
	for _, w := range waits {
		if view.ReplyTo(w.ID) == nil {
			open++
			ask = ask || w.Kind != machine.WaitApproval && w.Kind != machine.WaitUnknown
		}
	}
	if open == 0 || view.Stopping() {
		return "go on with: " + st.command("resume", run)
	}
	words := "yes|no"
	if ask {
		words = "yes|no|TEXT"
	}
	if len(waits) > 1 {
		words = "WAIT " + words
	}
	return "answer with: " + st.command("answer", run) + " " + words
}

// post hands something to a run, by an orchestrator that runs nothing.
func (st *runStore) post(ctx context.Context, do func(context.Context, *orchestrator.Orchestrator) error) error {
	set, err := strategies.Set(strategies.Settings{})
	if err != nil {
		return err
	}
	o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: set, Store: st.Store, Lease: lease})
	if err != nil {
		return err
	}
	return do(ctx, o)
}
