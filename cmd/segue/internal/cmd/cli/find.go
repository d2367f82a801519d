package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// shownRuns is how many runs an error or a completion names.
const shownRuns = 20

// Find returns the head of the run with this id, or of the only one whose id begins so.
func (st *RunStore) Find(ctx context.Context, run string) (checkpoint.Head, error) {
	key := checkpoint.Key{Run: run}
	if key.Check() != nil {
		return checkpoint.Head{}, fmt.Errorf("no run is called %q", plaintext.Head(plaintext.Visible(run), 80))
	}
	head, err := st.Head(ctx, key)
	if err == nil || !errors.Is(err, checkpoint.ErrNotFound) {
		return head, err
	}
	var found []checkpoint.Head
	for head, err := range checkpoint.Heads(ctx, st, checkpoint.Query{Limit: 1000}) {
		switch {
		case err != nil && len(found) > 0 && errors.Is(err, checkpoint.ErrCorrupt): // heads of others are damaged
		case err != nil:
			return checkpoint.Head{}, err
		case strings.HasPrefix(head.Key.Run, run):
			found = append(found, head)
		}
	}
	switch len(found) {
	case 0:
		return checkpoint.Head{}, fmt.Errorf("no run is called %s, or begins so; segue runs%s lists them", plaintext.Visible(run), st.Said)
	case 1:
		return found[0], nil
	}
	var names []string
	for i := range found[:min(len(found), shownRuns)] {
		names = append(names, plaintext.Visible(found[i].Key.Run))
	}
	return checkpoint.Head{}, fmt.Errorf("%d runs begin with %s: %s; write more of the id", len(found), plaintext.Visible(run), strings.Join(names, ", "))
}

// OneRun returns an error unless a command has one argument, the RUN.
func OneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("%s takes one RUN, the id of a run or the beginning of it: segue runs lists them; see %s --help", cmd.Name(), cmd.CommandPath())
	}
	return nil
}

// CompleteRuns completes the ids of runs of these statuses, or of all, as the first argument.
func (c *CLI) CompleteRuns(f *StoreFlag, statuses ...checkpoint.Status) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothingElse = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) > 0 {
			return nil, nothingElse
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		st, err := c.OpenRuns(ctx, f)
		if err != nil {
			return nil, nothingElse
		}
		defer st.Release()
		page, _ := st.List(ctx, checkpoint.Query{Status: statuses, Limit: 200}) // without what cannot be read
		var all []cobra.Completion
		for i := range page.Heads {
			if h := &page.Heads[i]; strings.HasPrefix(h.Key.Run, begin) && len(all) < shownRuns {
				all = append(all, cobra.CompletionWithDesc(h.Key.Run, StatusOf(h, time.Now())+plaintext.Colon(plaintext.Head(st.GoalOf(ctx, h.Key), 50))))
			}
		}
		return all, nothingElse
	}
}

// GoalOf returns the task of a run on one line; "" if it cannot be read.
func (st *RunStore) GoalOf(ctx context.Context, key checkpoint.Key) string {
	began, err := runview.Begin(ctx, st, key)
	if err != nil {
		return ""
	}
	return plaintext.OneLine(began.Input.Goal)
}

// ShownOr returns a text as it is shown, or another one if it is empty.
func ShownOr(text, otherwise string) string { return plaintext.Visible(cmp.Or(text, otherwise)) }

// StatusOf returns the status of a run as it is shown: a run that is running, and that no process
// works on, was interrupted.
func StatusOf(h *checkpoint.Head, now time.Time) string {
	status := cmp.Or(h.Header.Status, checkpoint.StatusRunning)
	if status == checkpoint.StatusRunning && !AtWork(h, now) {
		return string(machine.StatusInterrupted)
	}
	return string(status)
}

// AtWork reports whether a process works on a run, or did so a moment ago.
func AtWork(h *checkpoint.Head, now time.Time) bool { return h.Lease.Until.After(now) }

// CompleteSessions completes the names of conversations.
func (c *CLI) CompleteSessions(f *StoreFlag) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothingElse = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		st, err := c.OpenRuns(ctx, f)
		if err != nil {
			return nil, nothingElse
		}
		defer st.Release()
		var all []cobra.Completion
		err = st.Through(ctx, func(ctx context.Context, o *orchestrator.Orchestrator) error {
			for s, err := range o.Sessions(ctx, "") {
				if err != nil {
					return err
				}
				if strings.HasPrefix(s.Name, begin) && len(all) < shownRuns {
					all = append(all, cobra.CompletionWithDesc(s.Name, plaintext.Head(st.GoalOf(ctx, s.Last.Key), 50)))
				}
			}
			return nil
		})
		if err != nil {
			return nil, nothingElse
		}
		return all, nothingElse
	}
}
