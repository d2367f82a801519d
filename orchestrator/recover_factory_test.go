package orchestrator_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// A Recovery.Factory that panics ends neither the process nor the recovery of other runs; and it is
// asked while the recovery holds the lease, so that one which ends the process counts.
func TestRecover_factoryPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := new(checkpoint.Memory)
		build := func(store checkpoint.Store) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Text("done"), scripted.Text("done")), stored(store))
		}
		ran(t, build(whole), task("go"))
		left := died(t, whole, 1, time.Second)
		r := startRecover(t, build(left), orchestrator.Recovery{Factory: func(h checkpoint.Head) func() strategy.Strategy {
			now := headOf(t, left, "r")
			require.Equal(t, 1, now.Recoveries)
			require.Equal(t, now.Lease, h.Lease)
			panic("panicked")
		}})
		time.Sleep(time.Minute)
		head := headOf(t, left, "r")
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
		require.Contains(t, head.Header.Reason, "panicked")
		require.ErrorIs(t, r.stop(), context.Canceled)
	})
}

// failsAtTheEnd is a store whose Read fails once behind the last record of a run that has ended.
type failsAtTheEnd struct {
	checkpoint.Memory
	failed bool
}

func (s *failsAtTheEnd) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		for r, err := range s.Memory.Read(ctx, key, from) {
			if !yield(r, err) {
				return
			}
		}
		if !s.failed {
			s.failed = true
			yield(checkpoint.Record{}, context.DeadlineExceeded)
		}
	}
}

// Who follows a run hears how it has ended although the store fails behind the last record.
func TestFollow_storeFailsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failsAtTheEnd{failed: true}
		o := solver(t, scripted.New(scripted.Text("done")), stored(store), func(c *orchestrator.Config) { c.Timeouts.Store = time.Minute })
		ran(t, o, task("go"))
		store.failed = false
		events, err := all(t, o.Follow(t.Context(), keyOfRun, orchestrator.Position{}))
		require.NoError(t, err)
		require.True(t, store.failed)
		require.Equal(t, machine.EventRunFinished, events[len(events)-1].Kind)
	})
}
