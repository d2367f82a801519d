package orchestrator_test

import (
	"context"
	"errors"
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
	"github.com/segue-go/segue/tools"
)

var errDisk = errors.New("the disk is full")

// troubled is a store that does something before a method does its work, and does not do it if that
// returns an error.
type troubled struct {
	*checkpoint.Memory
	before func(ctx context.Context, method string, b *checkpoint.Batch) error
}

func troubledBy(before func(ctx context.Context, method string, b *checkpoint.Batch) error) *troubled {
	return &troubled{new(checkpoint.Memory), before}
}

// failsFrom is a store that fails, in whatever way, to append the records from a place on.
func failsFrom(record int, fail func() error) *troubled {
	return troubledBy(func(_ context.Context, method string, b *checkpoint.Batch) error {
		if method == "Append" && len(b.Records) > 0 && b.Records[0].Seq >= record {
			return fail()
		}
		return nil
	})
}

func (s *troubled) do(ctx context.Context, method string, b *checkpoint.Batch) error {
	if s.before == nil {
		return nil
	}
	return s.before(ctx, method, b)
}

func (s *troubled) Append(ctx context.Context, b checkpoint.Batch) error {
	if err := s.do(ctx, "Append", &b); err != nil {
		return err
	}
	return s.Memory.Append(ctx, b)
}

func (s *troubled) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	if err := s.do(ctx, "Head", nil); err != nil {
		return checkpoint.Head{}, err
	}
	return s.Memory.Head(ctx, key)
}

func (s *troubled) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		if err := s.do(ctx, "Read", nil); err != nil {
			yield(checkpoint.Record{}, err)
			return
		}
		s.Memory.Read(ctx, key, from)(yield)
	}
}

func (s *troubled) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	if err := s.do(ctx, "List", nil); err != nil {
		return checkpoint.Page{}, err
	}
	return s.Memory.List(ctx, q)
}

func (s *troubled) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	if err := s.do(ctx, "Posted", nil); err != nil {
		return nil, err
	}
	return s.Memory.Posted(ctx, keys...)
}

// sleeping is a tool that takes its time.
func sleeping(d time.Duration) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: "sleep", ReadOnly: true, Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
		select {
		case <-time.After(d):
			return "slept", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// A store that panics costs neither the process nor the run more than what it did not do.
func TestStore_panicsInAbilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panics atomic.Int32
		store := troubledBy(func(_ context.Context, method string, _ *checkpoint.Batch) error {
			if method == "Posted" || method == "List" || method == "Head" {
				panic(method)
			}
			return nil
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("sleep", "{}", "1")), scripted.Text("done")), with(sleeping(time.Minute)), stored(store), func(c *orchestrator.Config) {
			c.OnPanic = func(_ context.Context, p machine.PanicReport) {
				require.Contains(t, []string{"the store in Posted", "the store in List", "the store in Head"}, p.Where)
				panics.Add(1)
			}
		})
		startRecover(t, o, orchestrator.Recovery{})
		res := ran(t, o, task("go"))
		require.Equal(t, machine.StatusDone, res.Status)
		var p *machine.PanicError
		require.ErrorAs(t, o.Note(t.Context(), keyOfRun, "a note"), &p)
		require.GreaterOrEqual(t, panics.Load(), int32(60))
	})
}

// The heartbeats of some runs hang: the others keep their leases.
func TestLease_heartbeatsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(func(ctx context.Context, _ string, b *checkpoint.Batch) error {
			if b != nil && len(b.Records) == 0 && strings.HasPrefix(b.Key.Run, "hung") {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		script := make([]scripted.Reply, 0, 12)
		for range 6 {
			script = append(script, scripted.Calls(scripted.Call("sleep", "{}", "1")))
		}
		for range 6 {
			script = append(script, scripted.Text("done"))
		}
		o := solver(t, scripted.New(script...), with(sleeping(5*time.Minute)), stored(store))
		for _, id := range []string{"hung 1", "hung 2", "hung 3", "hung 4", "hung 5", "r"} {
			go func() {
				ta := task("go")
				ta.Run = id
				_, _ = o.Run(context.WithoutCancel(t.Context()), ta)
			}()
		}
		time.Sleep(time.Second)
		for range 280 {
			time.Sleep(time.Second)
			require.True(t, headOf(t, store, "r").Lease.Until.After(time.Now()), "others would take it over")
		}
		time.Sleep(time.Minute)
	})
}

// A store that fails while a run is recovered may work again later: the run is not parked.
func TestRecover_storeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(nil)
		build := scriptedBy(t, stored(store), with(echo("risky")), approving(orchestrator.ApprovalConfig{Default: machine.AskAlways, Expires: time.Minute}))
		ran(t, build(scripted.Calls(scripted.Call("risky", "{}", "1"))), task("go"))
		works := time.Now().Add(5 * time.Minute)
		store.before = func(_ context.Context, method string, b *checkpoint.Batch) error {
			if method == "Append" && len(b.Records) > 0 && time.Now().Before(works) {
				return errDisk
			}
			return nil
		}
		o := build(scripted.Text("done"))
		startRecover(t, o, orchestrator.Recovery{})
		time.Sleep(10 * time.Minute)
		require.Equal(t, checkpoint.StatusDone, headOf(t, store, "r").Header.Status)
	})
}
