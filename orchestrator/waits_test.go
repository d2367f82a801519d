package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// The inbox of a team: what the runs of all namespaces wait for is listed with all that is asked,
// until it was answered; runs that wait for nothing, have ended, or cannot be read keep back none.
func TestWaits(t *testing.T) {
	store := &checkpoint.Memory{}
	begin := func(namespace, run string, reply scripted.Reply) *orchestrator.Orchestrator {
		o := solver(t, scripted.New(reply, scripted.Text("done")), stored(store), with(echo("risky"), tools.AskUser()),
			approving(orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"risky": machine.AskAlways}}))
		_, err := o.Run(t.Context(), orchestrator.Task{Namespace: namespace, Run: run, Strategy: "solve", Input: delegation.Input{Goal: "the goal of " + run}})
		require.NoError(t, err)
		return o
	}
	begin("ann", "ends", scripted.Text("done"))
	begin("ann", "buys", scripted.Calls(scripted.Call("risky", `{"n":1}`, "1")))
	o := begin("bob", "asks", scripted.Calls(scripted.Call("ask_user", `{"question":"which?","options":["a","b"]}`, "1")))

	list := func(q checkpoint.Query) (found []orchestrator.Waiting, problems []error) {
		for w, err := range o.Waits(t.Context(), q) {
			if err != nil {
				problems = append(problems, err)
				continue
			}
			found = append(found, w)
		}
		return found, problems
	}
	found, problems := list(checkpoint.Query{All: true})
	require.Empty(t, problems)
	require.Len(t, found, 2)
	asks, buys := found[0], found[1]
	require.Equal(t, checkpoint.Key{Namespace: "bob", Run: "asks"}, asks.Head.Key)
	require.Equal(t, "the goal of asks", asks.Goal)
	require.Equal(t, "which?", asks.Waits[0].Text)
	require.Equal(t, []string{"a", "b"}, asks.Waits[0].Options)
	require.Equal(t, "risky", buys.Waits[0].Tool)
	require.JSONEq(t, `{"n":1}`, buys.Waits[0].Arguments)

	found, _ = list(checkpoint.Query{Namespace: "ann"})
	require.Len(t, found, 1, "one namespace")

	require.NoError(t, o.Answer(t.Context(), asks.Head.Key, machine.Reply{WaitID: asks.Waits[0].ID, Text: "b"}))
	found, _ = list(checkpoint.Query{All: true})
	require.Len(t, found, 1, "what was answered is left out, although no process has taken the answer")
	require.Equal(t, "buys", found[0].Head.Key.Run)

	other := solver(t, scripted.New(), stored(store)) // it lacks the tool that the run is about
	for w, err := range other.Waits(t.Context(), checkpoint.Query{All: true}) {
		require.NoError(t, err)
		require.Equal(t, "buys", w.Head.Key.Run)
	}

	stranger, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Store: store, Strategies: strategy.Set{"another": completetask.New(completetask.Config{})}})
	require.NoError(t, err)
	for w, err := range stranger.Waits(t.Context(), checkpoint.Query{All: true}) {
		require.ErrorAs(t, err, new(*orchestrator.JournalError), "whose strategy is not there cannot be read")
		require.Contains(t, []string{"buys", "asks"}, w.Head.Key.Run)
	}

	_, problems = list(checkpoint.Query{})
	require.Empty(t, problems)
	none := solver(t, scripted.New())
	for _, err := range none.Waits(t.Context(), checkpoint.Query{}) {
		require.ErrorAs(t, err, new(*orchestrator.ConfigError))
	}
}

// waitAt is a new wait, and the run that has it.
type waitAt struct {
	key  checkpoint.Key
	wait machine.Wait
}

// notify has a process tell of the waits of the runs that it works on.
func notify(fresh chan<- waitAt) func(*orchestrator.Config) {
	return func(cfg *orchestrator.Config) {
		cfg.Observe = func(_ context.Context, key checkpoint.Key) orchestrator.Observation {
			return orchestrator.Observation{Event: func(e machine.Event) {
				if d, ok := e.Detail.(machine.WaitStarted); ok {
					select {
					case fresh <- waitAt{key, d.Wait}: // to be posted to the webhook
					default: // too many at once: Orchestrator.Waits has them all
					}
				}
			}}
		}
	}
}

// The process that works on a run tells of a new wait, and whoever hears of it finds the wait in
// the store, whichever process it is: it can be answered at once.
func TestWaits_areTold(t *testing.T) {
	store, fresh := &checkpoint.Memory{}, make(chan waitAt, 1)
	worker := solver(t, scripted.New(scripted.Calls(scripted.Call("ask_user", `{"question":"which?"}`, "1")), scripted.Text("done")),
		stored(store), with(tools.AskUser()), notify(fresh))
	inbox := solver(t, scripted.New(), stored(store), with(tools.AskUser()))
	answered := make(chan error, 1)
	go func() {
		var told waitAt
		select {
		case told = <-fresh:
		case <-t.Context().Done():
			return
		}
		for w, err := range inbox.Waits(t.Context(), checkpoint.Query{All: true}) {
			if err != nil || w.Head.Key != told.key || w.Waits[0].ID != told.wait.ID {
				t.Error("another wait is in the store", err, w)
			}
		}
		answered <- inbox.Answer(t.Context(), told.key, machine.Reply{WaitID: told.wait.ID, Text: "that one"})
	}()
	_, err := worker.Run(t.Context(), orchestrator.Task{Namespace: "ann", Run: "r", Strategy: "solve", Input: delegation.Input{Goal: "go"}})
	require.NoError(t, err)
	require.NoError(t, waittest.Receive(t, answered))
	res, err := orchestrator.Collect(worker.Resume(t.Context(), orchestrator.Resumption{Namespace: "ann", Run: "r"}))
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text())
	require.Empty(t, fresh, "to go on tells of no wait again")
}
