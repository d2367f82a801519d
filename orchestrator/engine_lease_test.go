package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// Whoever resumes a run of another engine is told so; if it is taken over, the loop goes on with
// it.
func TestResume_ofAnotherEngine(t *testing.T) {
	store := new(checkpoint.Memory)
	o, err := orchestrator.New(orchestrator.Config{
		Store: store, Client: scripted.NewClient(scripted.Config{Replies: []scripted.Reply{scripted.Text("done")}}),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	s, err := o.Begin(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "x"}})
	require.NoError(t, err)
	how := orchestrator.Resumption{Run: s.Key.Run}
	for _, how.TakeOver = range []bool{false, true} {
		for _, err = range o.Resume(t.Context(), how) {
			continue
		}
		if !how.TakeOver {
			require.ErrorContains(t, err, "is one of another engine, which goes on with it; if that engine has lost it, take it over")
		}
	}
	require.NoError(t, err)
	_, err = checkpoint.Forget(t.Context(), store, s.Key)
	require.NoError(t, err)
}

// An observer of a Step that panics is called no more, and the answer is stored.
func TestStep_observerPanics(t *testing.T) {
	store, calls, told := new(checkpoint.Memory), 0, 0
	o, err := orchestrator.New(orchestrator.Config{
		Store: store, Client: scripted.NewClient(scripted.Config{Replies: []scripted.Reply{scripted.Text("one two three")}}),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		OnPanic:    func(context.Context, machine.PanicReport) { told++ },
	})
	require.NoError(t, err)
	s, err := o.Begin(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "x"}})
	require.NoError(t, err)
	s, err = o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, func(machine.Event) {
		calls++
		panic("broken")
	})
	require.NoError(t, err)
	require.Equal(t, []any{machine.StatusDone, 1, 1}, []any{s.Status, calls, told})
}
