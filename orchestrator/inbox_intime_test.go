package orchestrator_test

import (
	"context"
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

// A reply that was given in time counts, however late a process comes that takes it.
func TestAnswer_inTimeAndTakenLate(t *testing.T) {
	for name, posted := range map[string]time.Duration{"in time": 59 * time.Minute, "too late": 61 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(checkpoint.Memory)
				var paid atomic.Int32
				build := func(script ...scripted.Reply) *orchestrator.Orchestrator {
					return solver(t, scripted.New(script...), stored(store), with(counted("pay", &paid)),
						approving(orchestrator.ApprovalConfig{Default: machine.AskAlways, Expires: time.Hour}))
				}
				res := ran(t, build(scripted.Calls(scripted.Call("pay", "{}", "1"))), task("go"))
				time.Sleep(posted)
				err := build().Answer(t.Context(), keyOfRun, machine.Reply{WaitID: res.Waits[0].ID, Approve: true})
				require.Equal(t, posted < time.Hour, err == nil, err)
				time.Sleep(2 * time.Hour) // nobody is there
				r := startRecover(t, build(scripted.Text("done")), orchestrator.Recovery{})
				time.Sleep(time.Hour)
				require.Equal(t, machine.StatusDone, r.end("r").Status)
				require.Equal(t, posted < time.Hour, paid.Load() == 1)
				_, err = all(t, build().Replay(t.Context(), keyOfRun))
				require.NoError(t, err)
			})
		})
	}
}

// A wait whose replies cannot be read does not expire: one that was given in time would be lost.
func TestAnswer_inTimeAndUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(nil)
		var paid atomic.Int32
		build := func(script ...scripted.Reply) *orchestrator.Orchestrator {
			return solver(t, scripted.New(script...), stored(store), with(counted("pay", &paid)),
				approving(orchestrator.ApprovalConfig{Default: machine.AskAlways, Expires: time.Hour}))
		}
		res := ran(t, build(scripted.Calls(scripted.Call("pay", "{}", "1"))), task("go"))
		require.NoError(t, build().Answer(t.Context(), keyOfRun, machine.Reply{WaitID: res.Waits[0].ID, Approve: true}))
		time.Sleep(2 * time.Hour)
		reads := 0
		store.before = func(_ context.Context, method string, _ *checkpoint.Batch) error {
			if method == "Posted" {
				if reads++; reads == 1 {
					return errDisk
				}
			}
			return nil
		}
		_, err := orchestrator.Collect(build(scripted.Text("done")).Resume(t.Context(), resuming("r")))
		require.ErrorIs(t, err, errDisk)
		res, err = orchestrator.Collect(build(scripted.Text("done")).Resume(t.Context(), resuming("r")))
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
		require.EqualValues(t, 1, paid.Load())
	})
}
