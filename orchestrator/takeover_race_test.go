package orchestrator_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// Two processes that take a run over at once do not both work on it: one goes on, and the other is
// told, before it asks the model.
func TestTakeOver_byTwoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := new(checkpoint.Memory)
		ran(t, solver(t, scripted.New(scripted.Text("done")), stored(whole)), task("go"))
		left := died(t, whole, 1, time.Hour)
		var asked atomic.Int32
		model := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return &llmclient.Response{Message: messages.AssistantText("done")}, nil
		})
		var both sync.WaitGroup // have read the head
		both.Add(2)
		var errs [2]error
		var all sync.WaitGroup
		for i := range errs {
			var once sync.Once
			store := &troubled{left, func(_ context.Context, method string, _ *checkpoint.Batch) error {
				if method == "Append" {
					once.Do(func() { both.Done(); both.Wait() })
				}
				return nil
			}}
			o := solver(t, model, stored(store))
			all.Go(func() {
				_, errs[i] = orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "r", TakeOver: true}))
			})
		}
		all.Wait()
		require.EqualValues(t, 1, asked.Load())
		if errs[0] == nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.True(t, errors.Is(errs[0], checkpoint.ErrLeased) || errors.Is(errs[0], checkpoint.ErrFenced), "%v", errs[0])
		require.NoError(t, errs[1])
		require.Zero(t, headOf(t, left, "r").Recoveries)
	})
}

// unclear is a store whose leases are taken, though it says that it failed.
type unclear struct {
	checkpoint.Memory
	fails bool
}

var errUnclear = errors.New("the connection is lost")

func (u *unclear) Lease(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (checkpoint.Head, error) {
	h, err := u.Memory.Lease(ctx, key, writer, d)
	if u.fails && d > 0 {
		return checkpoint.Head{}, errUnclear
	}
	return h, err
}

// A lease whose outcome is unclear is given back, and counts as no recovery.
func TestResume_unclearLease(t *testing.T) {
	store := new(unclear)
	w := waitingRun(t, store)
	store.fails = true
	for range 5 {
		_, err := all(t, goingOn(t, store).Resume(t.Context(), resuming("r")))
		require.ErrorIs(t, err, errUnclear)
		require.Zero(t, headOf(t, store, "r").Lease)
	}
	store.fails = false
	_, err := all(t, goingOn(t, store, scripted.Text("done")).Resume(t.Context(), resuming("r", machine.Reply{WaitID: w.ID, Approve: true})))
	require.NoError(t, err)
	require.Zero(t, headOf(t, store, "r").Recoveries)
}

// A store that is closed stays closed: nothing is tried again.
func TestStore_closed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		store := troubledBy(func(_ context.Context, method string, _ *checkpoint.Batch) error {
			if method == "Append" && tries.Add(1) > 1 {
				return &checkpoint.Error{Store: "mine", Kind: checkpoint.ErrClosed}
			}
			return nil
		})
		began := time.Now()
		o := solver(t, scripted.New(scripted.Text("done")), stored(store), func(c *orchestrator.Config) { c.Timeouts.Store = time.Minute })
		_, err := o.Run(t.Context(), task("go"))
		require.ErrorIs(t, err, checkpoint.ErrClosed)
		require.Zero(t, time.Since(began))
	})
}
