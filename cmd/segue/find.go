package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/runview"
)

// shownRuns is how many runs an error or a completion names.
const shownRuns = 20

// find returns the head of the run with this id, or of the only one whose id begins so.
func (st *runStore) find(ctx context.Context, run string) (checkpoint.Head, error) {
	key := checkpoint.Key{Run: run}
	if key.Check() != nil {
		return checkpoint.Head{}, fmt.Errorf("no run is called %q", plaintext.Head(plaintext.Visible(run), 80))
	}
	head, err := st.Head(ctx, key)
	if err == nil || !errors.Is(err, checkpoint.ErrNotFound) {
		return head, err
	}
	var found []checkpoint.Head
	for q := (checkpoint.Query{Limit: 1000}); ; {
		page, err := st.List(ctx, q)
		if err != nil {
			return checkpoint.Head{}, err
		}
		for i := range page.Heads {
			if strings.HasPrefix(page.Heads[i].Key.Run, run) {
				found = append(found, page.Heads[i])
			}
		}
		if q.After = page.Next; q.After.IsZero() {
			break
		}
	}
	switch len(found) {
	case 0:
		return checkpoint.Head{}, fmt.Errorf("no run is called %s, or begins so; segue runs%s lists them", plaintext.Visible(run), st.said)
	case 1:
		return found[0], nil
	}
	var names []string
	for i := range found[:min(len(found), shownRuns)] {
		names = append(names, plaintext.Visible(found[i].Key.Run))
	}
	return checkpoint.Head{}, fmt.Errorf("%d runs begin with %s: %s; write more of the id", len(found), plaintext.Visible(run), strings.Join(names, ", "))
}

// oneRun returns an error unless a command has one argument, the RUN.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("%s takes one RUN, the id of a run or the beginning of it: segue runs lists them; see %s --help", cmd.Name(), cmd.CommandPath())
	}
	return nil
}

// completeRuns completes the ids of runs of these statuses, or of all, as the first argument.
func (c *cli) completeRuns(f *storeFlag, statuses ...checkpoint.Status) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothingElse = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) > 0 {
			return nil, nothingElse
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		st, err := c.openRuns(ctx, f)
		if err != nil {
			return nil, nothingElse
		}
		defer st.close()
		page, err := st.List(ctx, checkpoint.Query{Status: statuses, Limit: 200})
		if err != nil {
			return nil, nothingElse
		}
		var all []cobra.Completion
		for i := range page.Heads {
			if h := &page.Heads[i]; strings.HasPrefix(h.Key.Run, begin) && len(all) < shownRuns {
				all = append(all, cobra.CompletionWithDesc(h.Key.Run, statusOf(h, time.Now())+plaintext.Colon(plaintext.Head(st.goalOf(ctx, h.Key), 50))))
			}
		}
		return all, nothingElse
	}
}

// goalOf returns the task of a run on one line; "" if it cannot be read.
func (st *runStore) goalOf(ctx context.Context, key checkpoint.Key) string {
	began, err := runview.Begin(ctx, st, key)
	if err != nil {
		return ""
	}
	return plaintext.OneLine(began.Input.Goal)
}
