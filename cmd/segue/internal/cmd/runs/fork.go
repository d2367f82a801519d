package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/runs"
)

// forkFlags are the flags of segue fork.
type forkFlags struct {
	run.Flags
	at     int
	task   string
	branch string
	reply  string
	reason string
}

func forkCommand(c *cli.CLI) *cobra.Command {
	f := &forkFlags{}
	cmd := storeCommand{Command: &cobra.Command{
		Use:   "fork [flags] RUN",
		Short: "Make a new run from the beginning of another",
		Long: `Fork makes a new run from the first records of another one, up to --at. The other one stays as it is. segue resume goes on with
the new one. It takes over no approval of a call that has no result by then: it asks again.

A fork belongs to no conversation; with --session it is the first turn of a new one, a branch. segue sessions lists them.

--task begins with another task, and takes over nothing else. --reply replaces the reply in record --at: by yes or no if it is
about an approval, and else by a text. segue show lists the records. RUN is the id of a run, or the beginning of it.`,
		Example: `  segue fork --at 12 019a5c
  segue fork --at 9 --reply no --reason "Not that file" 019a5c
  segue fork --task "The same for b.txt" 019a5c`,
	}, reads: &f.Flags, output: "a text to read, or a JSON object as in segue runs", do: f.fork}.command(c)
	cmd.Flags().IntVar(&f.at, "at", 0, "the last record that is taken over (default the last there is)")
	cmd.Flags().StringVar(&f.task, "task", "", "begin with this task")
	cmd.Flags().StringVar(&f.reply, "reply", "", "replace the reply in record --at by this one")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why not, for the model; with --reply no")
	cmd.Flags().StringVar(&f.branch, "session", "", "begin a conversation with this `NAME`")
	cmd.MarkFlagsMutuallyExclusive("task", "reply")
	cmd.MarkFlagsMutuallyExclusive("task", "at")
	return cmd
}

// fork executes segue fork.
func (f *forkFlags) fork(ctx context.Context, at *kept, _ []string) (found, error) {
	how := runs.ForkConfig{From: at.key(), At: f.at}
	if f.Given("session") {
		name, err := at.NewSession(ctx, f.branch)
		if err != nil {
			return found{}, err
		}
		how.Session = name
	}
	if f.Given("task") {
		how.Input = &delegation.Input{Goal: f.task}
	}
	if f.Given("reply") {
		reply, err := f.otherReply(ctx, at)
		if err != nil {
			return found{}, err
		}
		how.Reply = &reply
	}
	head, err := runs.Fork(ctx, at.o, how)
	if err != nil {
		return found{}, cli.Failed(err)
	}
	next := "go on with: " + at.Command("resume", head.Key.Run)
	if head.Header.Status.Ended() {
		next = "it has ended, as all records were taken over: --at names an earlier one"
	}
	text := fmt.Sprintf("run %s has %s in common with %s; %s\n", head.Key.Run, plaintext.Counted(head.Header.Origin.Record, "record"), at.key().Run, next)
	return found{newRunRecord(&head, at.GoalOf(ctx, head.Key), time.Now()), text}, nil
}

// otherReply makes the reply that takes the place of the one in record --at.
func (f *forkFlags) otherReply(ctx context.Context, at *kept) (machine.Reply, error) {
	view, err := runview.Read(ctx, at, at.head)
	if err != nil {
		return machine.Reply{}, cli.Failed(err)
	}
	if f.at < 1 || f.at > len(view.Entries) || view.Entries[f.at-1].Type != machine.TypeOf(machine.Replied{}) {
		return machine.Reply{}, errors.New("--reply needs --at, the number of a record that is a reply; segue show lists them")
	}
	old := view.Entries[f.at-1].What.(machine.Replied)
	w := machine.Wait{ID: old.Reply.WaitID, Kind: machine.WaitQuestion}
	if old.Reply.Text == "" {
		w.Kind = machine.WaitApproval
	}
	return replyTo(w, f.reply, f.reason)
}
