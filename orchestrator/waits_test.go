package orchestrator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
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
