package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
)

// damagedHeads is a store in which the heads of some runs are damaged.
type damagedHeads struct {
	*checkpoint.Memory
	of string // their ids begin so
}

func (d *damagedHeads) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	page, err := d.Memory.List(ctx, q)
	var problems []error
	page.Heads = slices.DeleteFunc(page.Heads, func(h checkpoint.Head) bool {
		broken := strings.HasPrefix(h.Key.Run, d.of)
		if broken {
			problems = append(problems, fmt.Errorf("the head of run %q: %w", h.Key.Run, checkpoint.ErrCorrupt))
		}
		return broken
	})
	return page, errors.Join(append(problems, err)...)
}

// A damaged head keeps no other run from being recovered, and no other session from being listed.
func TestRecover_besideDamagedHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := new(checkpoint.Memory)
		ran(t, solver(t, scripted.New(scripted.Text("done")), stored(whole)), task("go"))
		left := died(t, whole, 1, time.Second)
		for _, run := range []string{"damaged 1", "damaged 2"} {
			require.NoError(t, left.Append(t.Context(), checkpoint.Batch{
				Key: checkpoint.Key{Run: run}, Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte("?")}}, Writer: "w",
				Header: &checkpoint.Header{Status: checkpoint.StatusRunning, Labels: map[string]string{orchestrator.LabelSession: "other", orchestrator.LabelTurn: "1"}},
			}))
		}
		o := solver(t, scripted.New(scripted.Text("done"), scripted.Text("hello")), stored(&damagedHeads{left, "damaged"}))
		r := startRecover(t, o, orchestrator.Recovery{})
		time.Sleep(time.Hour)
		require.Equal(t, checkpoint.StatusDone, headOf(t, left, "r").Header.Status)
		_ = r.stop()

		ran(t, o, orchestrator.Task{Session: "whole", Input: delegation.Input{Goal: "hi"}})
		var names []string
		var last error
		for s, err := range o.Sessions(t.Context(), "") {
			require.NoError(t, last, "it comes last")
			if last = err; err == nil {
				names = append(names, s.Name)
			}
		}
		require.Equal(t, []string{"whole"}, names)
		require.ErrorIs(t, last, checkpoint.ErrCorrupt)
		require.ErrorContains(t, last, `the head of run "damaged 2"`)
		_, err := o.History(t.Context(), "", "other")
		require.ErrorIs(t, err, checkpoint.ErrCorrupt, "nobody knows which turn is the last")
	})
}
