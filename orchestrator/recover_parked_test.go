package orchestrator_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

func version(v string) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Version = v }
}

// A run that is parked because its recovery ended the process is tried by another version, once:
// if that dies of it as well, nobody takes it any more but a third one. A version that can goes on.
func TestRecover_endedTheProcessOfAnotherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		build := func(store checkpoint.Store, v string) *orchestrator.Orchestrator {
			count := func(*llmclient.Request) scripted.Reply {
				asked.Add(1)
				return scripted.Text("done")
			}
			return solver(t, always(count), stored(store), version(v))
		}
		whole := new(checkpoint.Memory)
		ran(t, build(whole, "1"), task("go"))
		left := died(t, whole, 1, time.Second)
		for range 5 {
			time.Sleep(2 * time.Second)
			_, err := left.Lease(t.Context(), keyOfRun, time.Now().String(), time.Second) // and that process dies
			require.NoError(t, err)
		}
		asked.Store(0)
		look := func(v string, how orchestrator.Recovery) checkpoint.Header {
			recoverFor(t, time.Hour, build(left, v), how)
			return headOf(t, left, "r").Header
		}
		h := look("1", orchestrator.Recovery{})
		require.Equal(t, checkpoint.StatusParked, h.Status)
		require.Equal(t, "1", h.Version)
		dies, tried := checkpoint.Header{}, 0
		look("2", orchestrator.Recovery{Factory: func(h checkpoint.Head) func() strategy.Strategy {
			dies, tried = headOf(t, left, "r").Header, tried+1
			return nil
		}})
		require.Equal(t, 1, tried)
		require.EqualValues(t, 1, asked.Load())
		require.Equal(t, checkpoint.StatusDone, headOf(t, left, "r").Header.Status)
		require.Empty(t, headOf(t, left, "r").Header.Reason)

		left = died(t, whole, 1, time.Second)
		for i := range 5 {
			time.Sleep(2 * time.Second)
			_, err := left.Lease(t.Context(), keyOfRun, time.Now().String(), time.Second)
			require.NoError(t, err)
			if i == 3 { // what stood there as the process of version 2 died
				require.NoError(t, left.Append(t.Context(), checkpoint.Batch{Key: keyOfRun, Writer: time.Now().String(), Epoch: headOf(t, left, "r").Epoch, Header: &dies}))
			}
		}
		for _, v := range []string{"1", "2", "2", "1", "2"} { // in a rolling deployment each of the two begins again
			h = look(v, orchestrator.Recovery{})
			require.Equal(t, checkpoint.StatusParked, h.Status, v)
			require.Equal(t, "2", h.Version)
			require.Equal(t, `its recovery has ended the process 5 times, with version "1", and then with version "2"`, h.Reason)
			require.EqualValues(t, 1, asked.Load())
		}
		require.Equal(t, checkpoint.StatusDone, look("3", orchestrator.Recovery{}).Status)
		require.EqualValues(t, 2, asked.Load())
	})
}

// A call that a person has approved waits for a program that has its tool: one without it neither
// makes the call nor tells the model that there is no such tool.
func TestRecover_withoutTheToolOfAnOpenCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		w := waitingRun(t, store)
		yes := machine.Reply{WaitID: w.ID, Approve: true}
		policy := approving(orchestrator.ApprovalConfig{Default: machine.AskAlways})
		without := solver(t, scripted.New(scripted.Text("no")), stored(store), policy, version("1"))
		_, err := all(t, without.Resume(t.Context(), resuming("r", yes)))
		require.ErrorAs(t, err, new(*orchestrator.ConfigError))
		require.ErrorContains(t, err, `run "r" has an open call of the tool "risky", which is missing here`)

		require.NoError(t, without.Answer(t.Context(), keyOfRun, yes))
		startRecover(t, without, orchestrator.Recovery{})
		time.Sleep(time.Minute)
		head := headOf(t, store, "r")
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
		require.Contains(t, head.Header.Reason, `"risky"`)
		having := solver(t, scripted.New(scripted.Text("done")), stored(store), policy, version("2"), with(echo("risky")))
		other := startRecover(t, having, orchestrator.Recovery{})
		time.Sleep(time.Minute)
		require.Equal(t, machine.StatusDone, other.end("r").Status)
		require.Contains(t, whole(t, store), "risky{}", "the call was made")
	})
}

// A session whose tasks bring their strategies goes on with what was said, and does not lose it
// silently where nobody has the strategy.
func TestSession_factories(t *testing.T) {
	store := new(checkpoint.Memory)
	model := scripted.New(scripted.Text("Hello Ann."), scripted.Text("Ann."))
	o := solver(t, model, stored(store))
	ask := func(goal string) orchestrator.Task {
		return orchestrator.Task{Session: "chat", Factory: completetask.New(completetask.Config{}), Input: delegation.Input{Goal: goal}}
	}
	for _, goal := range []string{"I am Ann.", "Who am I?"} {
		ran(t, o, ask(goal))
	}
	require.Equal(t, []string{"user: I am Ann.", "assistant: Hello Ann.", "user: Who am I?"}, saidIn(model.Requests()[1].Messages))
	_, err := o.History(t.Context(), "", "chat")
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))
	_, err = o.Run(t.Context(), turn("And now?"))
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))
}

// Whoever stops a run needs none of its tools: it stops, also where one is missing.
func TestStop_withoutTheToolOfAnOpenCall(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *orchestrator.Orchestrator, *orchestrator.Resumption){
		"posted":          func(t *testing.T, o *orchestrator.Orchestrator, _ *orchestrator.Resumption) { stopOf(t, o, false) },
		"posted, at once": func(t *testing.T, o *orchestrator.Orchestrator, _ *orchestrator.Resumption) { stopOf(t, o, true) },
		"given":           func(_ *testing.T, _ *orchestrator.Orchestrator, how *orchestrator.Resumption) { how.Stop = closed() },
	} {
		for _, approved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, approved %t", name, approved), func(t *testing.T) {
				store := new(ledger)
				w := waitingRun(t, store)
				without := solver(t, scripted.New(), stored(store), version("1"))
				if approved {
					require.NoError(t, without.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: w.ID, Approve: true}))
				}
				how := resuming("r")
				ask(t, without, &how)
				res, err := orchestrator.Collect(without.Resume(t.Context(), how))
				require.Error(t, err)
				require.Equal(t, machine.StatusStopped, res.Status, "%v", err)
				require.NotContains(t, whole(t, &store.Memory), "status\":\"error", "the model is not told that there is no such tool")
				require.Empty(t, store.inbox(t))
			})
		}
	}
}

func stopOf(t *testing.T, o *orchestrator.Orchestrator, now bool) {
	t.Helper()
	require.NoError(t, o.Stop(t.Context(), keyOfRun, "enough", now))
}

func closed() <-chan struct{} {
	stop := make(chan struct{})
	close(stop)
	return stop
}
