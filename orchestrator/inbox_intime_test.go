package orchestrator_test

import (
	"context"
	"errors"
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

// inboxFails has so many reads of an inbox fail with an error, or all if times is negative.
func inboxFails(store *troubled, times int, err error) {
	store.before = func(_ context.Context, method string, _ *checkpoint.Batch) error {
		if method == "Posted" && times != 0 {
			times--
			return err
		}
		return nil
	}
}

// What was posted to a run that has died counts before anything is done, such as a request of the
// model that nobody wants any more. A resumption that cannot know it changes nothing.
func TestResume_unreadableInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(nil)
		w := waitingRun(t, store)
		require.NoError(t, goingOn(t, store).Stop(t.Context(), keyOfRun, "enough", true))
		inboxFails(store, -1, errDisk)
		before := headOf(t, store, "r").Last
		_, err := orchestrator.Collect(goingOn(t, store).Resume(t.Context(), resuming("r", machine.Reply{WaitID: w.ID, Approve: true})))
		require.ErrorIs(t, err, errDisk)
		_, ok := errors.AsType[*orchestrator.JournalError](err)
		require.True(t, ok)
		require.Equal(t, before, headOf(t, store, "r").Last)
		_, err = orchestrator.Collect(solver(t, scripted.New(), stored(store)).Resume(t.Context(), resuming("r")))
		require.ErrorIs(t, err, errDisk, "a run that stops needs no tool")
		inboxFails(store, 3, errDisk) // it is tried again
		patient := solver(t, scripted.New(), stored(store), with(echo("risky")), func(c *orchestrator.Config) { c.Timeouts.Store = time.Second })
		res, err := orchestrator.Collect(patient.Resume(t.Context(), resuming("r")))
		require.ErrorContains(t, err, "enough")
		require.Equal(t, machine.StatusStopped, res.Status)
	})
}

// A message that can never be read keeps no run from what else becomes of it.
func TestPosted_corrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(nil)
		build := func(script ...scripted.Reply) *orchestrator.Orchestrator {
			return solver(t, scripted.New(script...), stored(store), with(echo("risky")),
				approving(orchestrator.ApprovalConfig{Default: machine.AskAlways, Expires: time.Hour}))
		}
		o := build(scripted.Calls(scripted.Call("risky", "{}", "1")))
		s := stepsTo(t, o, begun(t, o, task("go")), "")
		require.Len(t, s.Waits, 1)
		time.Sleep(2 * time.Hour)
		inboxFails(store, -1, checkpoint.ErrCorrupt)
		for w, err := range o.Waits(t.Context(), checkpoint.Query{}) {
			require.NoError(t, err)
			require.Len(t, w.Waits, 1)
		}
		s = continued(t, o, s, orchestrator.Continuation{Expire: true})
		require.Empty(t, s.Waits)
		require.NotEmpty(t, s.Effects, "the model hears of it")
	})
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
		inboxFails(store, -1, errDisk)
		_, err := orchestrator.Collect(build(scripted.Text("done")).Resume(t.Context(), resuming("r")))
		require.ErrorIs(t, err, errDisk)
		store.before = nil
		res, err = orchestrator.Collect(build(scripted.Text("done")).Resume(t.Context(), resuming("r")))
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
		require.EqualValues(t, 1, paid.Load())
	})
}
