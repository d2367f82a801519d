package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// damaged is a store whose records cannot be read from a place on.
type damaged struct {
	*checkpoint.Memory
	from  int
	err   error
	reads atomic.Int32
}

func (d *damaged) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	d.reads.Add(1)
	return func(yield func(checkpoint.Record, error) bool) {
		for rec, err := range d.Memory.Read(ctx, key, from) {
			if rec.Seq == d.from {
				yield(checkpoint.Record{}, d.err)
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// A run whose store says that a record is damaged is parked by the reason: it would not get better
// by itself. Once it is repaired, it can be resumed by hand.
func TestRecover_damagedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		build := func(store checkpoint.Store) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Text("done"), scripted.Text("done")), stored(store))
		}
		whole := new(checkpoint.Memory)
		ran(t, build(whole), task("go"))
		left := &damaged{Memory: died(t, whole, 1, time.Second), from: 1, err: fmt.Errorf("run r, record 1: %w", checkpoint.ErrCorrupt)}
		r := startRecover(t, build(left), orchestrator.Recovery{})
		time.Sleep(time.Hour)
		head := headOf(t, left, "r")
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
		require.Contains(t, head.Header.Reason, "run r, record 1: checkpoint: the stored data are damaged")
		require.Equal(t, 1, head.Last, "nothing is written behind it")
		require.Zero(t, head.Lease)
		require.EqualValues(t, 1, left.reads.Load(), "it is tried once")
		_ = r.stop()

		left.from = 0
		res := goOn(t, build(left), "r")
		require.Equal(t, machine.StatusDone, res.Status)
	})
}

// What is wrong with the bytes of a journal is told apart from what is wrong with the store, and
// from a record of a later format.
func TestJournal_damage(t *testing.T) {
	build := func(store checkpoint.Store) *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Text("done")), stored(store))
	}
	whole := new(checkpoint.Memory)
	ran(t, build(whole), task("go"))
	var first string
	for rec, err := range whole.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
		require.NoError(t, err)
		first = string(rec.Data)
		break
	}
	for name, x := range map[string]struct {
		data    string
		corrupt bool
	}{
		"no JSON":        {`{"v":2,"type":`, true},
		"no such type":   {`{"v":2,"type":"danced"}`, true},
		"no version":     {`{"type":"noted"}`, true},
		"another's":      {strings.Replace(first, `"run":"r"`, `"run":"s"`, 1), true},
		"a later format": {`{"v":99,"type":"noted"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			left := new(checkpoint.Memory)
			require.NoError(t, left.Append(t.Context(), checkpoint.Batch{
				Key: checkpoint.Key{Run: "r"}, Header: &checkpoint.Header{Status: checkpoint.StatusWaiting},
				Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte(x.data)}},
			}))
			_, resumed := orchestrator.Collect(build(left).Resume(t.Context(), resuming("r")))
			var replayed error
			for _, err := range build(left).Replay(t.Context(), checkpoint.Key{Run: "r"}) {
				replayed = err
			}
			for _, err := range []error{resumed, replayed} {
				e := new(orchestrator.JournalError)
				require.ErrorAs(t, err, &e)
				require.Equal(t, 1, e.Record)
				require.Equal(t, x.corrupt, errors.Is(err, checkpoint.ErrCorrupt), err)
			}
		})
	}
}
