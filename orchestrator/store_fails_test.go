package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// failsAt is a store whose append of that number fails.
type failsAt struct {
	checkpoint.Memory
	at, calls int
}

var errDisk = errors.New("the disk is full")

func (s *failsAt) Append(ctx context.Context, b checkpoint.Batch) error {
	if len(b.Records) == 0 { // the lease ends
		return s.Memory.Append(ctx, b)
	}
	if s.calls++; s.calls == s.at {
		return errDisk
	}
	return s.Memory.Append(ctx, b)
}

// A store that fails at any append ends the run with its error, by Run and by Stream, whichever
// goroutine the loop is on; the run can be resumed.
func TestStore_failsAtEachAppend(t *testing.T) {
	for _, streams := range []bool{false, true} {
		for at := 1; ; at++ {
			store := &failsAt{at: at}
			var paid atomic.Int32
			slow := tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true}, func(context.Context, string) (string, error) {
				time.Sleep(5 * time.Millisecond)
				return "slow", nil
			})
			o := solver(t, scripted.New(
				scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Calls(scripted.Call("slow", "{}", "2")),
				scripted.Calls(scripted.Call("slow", "{}", "3"), scripted.Call("pay", "{}", "4")), scripted.Text("done"), scripted.Text("done"),
			), stored(store), with(counted("pay", &paid), slow))
			var err error
			var res orchestrator.Result
			if streams {
				res, err = orchestrator.Collect(o.Stream(t.Context(), task("go")))
			} else {
				res, err = o.Run(t.Context(), task("go"))
			}
			if store.calls < at {
				require.NoError(t, err)
				require.Greater(t, at, 5)
				break
			}
			require.ErrorIs(t, err, errDisk, "append %d", at)
			_, ok := errors.AsType[*orchestrator.JournalError](err)
			require.True(t, ok, "append %d", at)
			require.LessOrEqual(t, store.calls, at, "nothing is stored after a gap")
			if at > 1 {
				require.Equal(t, machine.StatusInterrupted, res.Status)
				require.Equal(t, delegation.CodeStorage, res.Output.Err.Code)
				events, _ := all(t, o.Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
				require.NotEmpty(t, events, "append %d", at)
				require.Equal(t, machine.EventRunResumed, events[0].Kind, "append %d", at)
			}
			require.LessOrEqual(t, paid.Load(), int32(2), "append %d", at)
		}
	}
}
