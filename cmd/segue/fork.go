package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/runs"
)

// forkFlags are the flags of segue fork.
type forkFlags struct {
	runFlags
	form   choice
	at     int
	task   string
	branch string
	reply  string
	reason string
}

func (c *cli) forkCommand() *cobra.Command {
	f := &forkFlags{form: oneOf(formText, formJSON)}
	cmd := &cobra.Command{
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
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error { return c.fork(cmd.Context(), f, args[0]) },
	}
	f.offerReading(cmd, c)
	cmd.Flags().IntVar(&f.at, "at", 0, "the last record that is taken over (default the last there is)")
	cmd.Flags().StringVar(&f.task, "task", "", "begin with this task")
	cmd.Flags().StringVar(&f.reply, "reply", "", "replace the reply in record --at by this one")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why not, for the model; with --reply no")
	cmd.Flags().StringVar(&f.branch, "session", "", "begin a conversation with this `NAME`")
	f.form.offer(cmd, "output", "a text to read, or a JSON object as in segue runs")
	cmd.MarkFlagsMutuallyExclusive("task", "reply")
	cmd.MarkFlagsMutuallyExclusive("task", "at")
	return cmd
}

// fork executes segue fork.
func (c *cli) fork(ctx context.Context, f *forkFlags, run string) error {
	j, o, err := c.reading(ctx, &f.runFlags, run, c.screen(f.out))
	defer func() { j.close() }()
	if err != nil {
		return err
	}
	how := runs.ForkConfig{From: j.key(), At: f.at}
	if f.given("session") {
		if how.Session, err = j.runs.newSession(ctx, f.branch); err != nil {
			return err
		}
	}
	if f.given("task") {
		how.Input = &delegation.Input{Goal: f.task}
	}
	if f.given("reply") {
		reply, err := f.otherReply(ctx, j.runs, j.key().Run)
		if err != nil {
			return err
		}
		how.Reply = &reply
	}
	head, err := runs.Fork(ctx, o, how)
	if err != nil {
		return failed(err)
	}
	if f.form.value == formJSON {
		return encode(c.stdout, newRunRecord(&head, j.runs.goalOf(ctx, head.Key), time.Now()))
	}
	next := "go on with: " + j.runs.command("resume", head.Key.Run)
	if head.Header.Status.Ended() {
		next = "it has ended, as all records were taken over: --at names an earlier one"
	}
	return write(c.stdout, fmt.Sprintf("run %s has %s in common with %s; %s\n",
		head.Key.Run, plaintext.Counted(head.Header.Origin.Record, "record"), j.key().Run, next))
}

// otherReply makes the reply that takes the place of the one in record --at.
func (f *forkFlags) otherReply(ctx context.Context, store *runStore, run string) (machine.Reply, error) {
	head, err := store.find(ctx, run)
	if err != nil {
		return machine.Reply{}, err
	}
	view, err := runview.Read(ctx, store, head)
	if err != nil {
		return machine.Reply{}, failed(err)
	}
	if f.at < 1 || f.at > len(view.Entries) || view.Entries[f.at-1].Type != machine.TypeReplied {
		return machine.Reply{}, errors.New("--reply needs --at, the number of a record that is a reply; segue show lists them")
	}
	old := view.Entries[f.at-1].What.(machine.Replied)
	w := machine.Wait{ID: old.Reply.WaitID, Kind: machine.WaitQuestion}
	if old.Reply.Text == "" {
		w.Kind = machine.WaitApproval
	}
	return replyTo(w, f.reply, f.reason)
}
