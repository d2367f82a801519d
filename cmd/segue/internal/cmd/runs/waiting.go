package runs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/age"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/machine"
)

// waitingRecord is a run that waits for an answer, in the form json of segue waiting.
type waitingRecord struct {
	RunRecord
	Waits []machine.Wait `json:"waits"` // that nobody has answered; of one whose question is not known only id, run and kind
	text  string
}

func waitingCommand(c *cli.CLI) *cobra.Command {
	f := &runsFlags{form: cli.OneOf(cli.FormText, cli.FormJSON)}
	cmd := &cobra.Command{
		Use:   "waiting",
		Short: "List what waits for an answer, in all runs",
		Long: `Waiting lists what runs wait for, the newest run first: for each run its id, how long it has waited, its task, and each question
with the tool and its arguments. What was answered already is left out. segue answer gives an answer.`,
		Example: `  segue waiting
  segue answer 019a5c yes
  segue waiting --output json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listWaiting(cmd.Context(), c, f) },
	}
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many runs at most")
	f.form.Offer(cmd, "output", "a text to read, or a JSON array of objects")
	f.store.Offer(cmd)
	return cmd
}

// listWaiting executes segue waiting.
func listWaiting(ctx context.Context, c *cli.CLI, f *runsFlags) error {
	if f.limit < 1 {
		return errors.New("--limit is a number from 1 on")
	}
	return list(ctx, c, f, waitingText, func(st *cli.RunStore) ([]waitingRecord, error) {
		statuses := []checkpoint.Status{checkpoint.StatusWaiting, checkpoint.StatusRunning}
		all := []waitingRecord{}
		damage := eachRun(ctx, st, checkpoint.Query{Status: statuses, Limit: min(f.limit, 1000)}, func(h *checkpoint.Head) (more bool, err error) {
			if len(h.Header.Waits) == 0 {
				return true, nil
			}
			r, err := readWaiting(ctx, st, h)
			if err == nil && len(r.Waits) > 0 {
				all = append(all, r)
			}
			return len(all) < f.limit, err
		})
		return all, damage
	})
}

// readWaiting returns what a run waits for and nobody has answered.
func readWaiting(ctx context.Context, st *cli.RunStore, h *checkpoint.Head) (waitingRecord, error) {
	view, err := runview.Read(ctx, st, *h)
	if err != nil {
		return waitingRecord{}, err
	}
	r := waitingRecord{RunRecord: newRunRecord(h, view.Started.Input.Goal, time.Now()), Waits: []machine.Wait{}}
	for _, w := range view.Waits {
		if w.Kind != machine.WaitTimer && view.ReplyTo(w.ID) == nil {
			r.Waits = append(r.Waits, w)
		}
	}
	r.text = strings.Join(waitLines(r.Waits, view), "\n") + "\n" + howToAnswer(st, h.Key.Run, r.Waits, view)
	return r, nil
}

// waitingText shows the runs that wait.
func waitingText(all []waitingRecord) string {
	if len(all) == 0 {
		return "nothing waits for an answer\n"
	}
	runs := make([]string, len(all))
	for i := range all {
		r := &all[i]
		runs[i] = "run " + plaintext.Visible(r.Run) + ", for " + age.Text(time.Since(r.Updated)) + plaintext.Colon(plaintext.Head(r.Goal, goalColumns)) + "\n" + r.text + "\n"
	}
	return strings.Join(runs, "\n")
}
