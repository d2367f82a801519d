package builtin_test

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
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
)

// A run that waits four frames deep stores the current state of each of its strategies: who reads
// its journal in another process finds every frame where the live run had it, and resumes there.
func TestStoredRun_hasTheStateOfEveryFrame(t *testing.T) {
	store, paid := new(checkpoint.Memory), 0
	pay := tools.NewRaw(tools.Definition{Name: "pay", NeedsApproval: true}, func(context.Context, string) (string, error) {
		paid++
		return "paid", nil
	})
	strategies := strategy.Set{
		"first":  retry.New(retry.Config{Strategy: "second"}),
		"second": retry.New(retry.Config{Strategy: "third"}),
		"third":  retry.New(retry.Config{Strategy: "clerk"}),
		"clerk":  completetask.New(completetask.Config{}),
	}
	process := func(script ...scripted.Reply) *orchestrator.Orchestrator {
		o, err := orchestrator.New(orchestrator.Config{
			Client: scripted.New(script...), Strategies: strategies, Default: "first", Tools: []tools.Tool{pay}, Store: store,
		})
		require.NoError(t, err)
		return o
	}
	live := map[string]strategy.State{}
	var wait orchestrator.Wait
	for e, err := range process(scripted.Calls(scripted.Call("pay", "{}", "c1"))).Stream(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "Pay."}}) {
		require.NoError(t, err)
		switch d := e.Detail.(type) {
		case orchestrator.StateChanged:
			live[e.Frame] = d.To
		case orchestrator.RunFinished:
			require.Equal(t, orchestrator.StatusWaiting, d.Status)
			wait = d.Waits[0]
		default:
		}
	}
	require.Equal(t, map[string]strategy.State{"0": "attempting", "0.1": "attempting", "0.1.1": "attempting", "0.1.1.1": "awaiting_tools"}, live)

	m := machine.New(&machine.Config{Strategies: strategies, Tools: []tools.Definition{pay.Definition()}, Approve: machine.AllowNever})
	for rec, err := range store.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
		require.NoError(t, err)
		read, err := machine.ReadRecord(rec.Data)
		require.NoError(t, err)
		require.NoError(t, m.Apply(read))
		m.Advance()
	}
	stored := map[string]strategy.State{}
	for _, f := range m.Frames() {
		stored[f.Name] = f.State
	}
	require.Equal(t, live, stored)

	res, err := orchestrator.Collect(process(scripted.Text("It is paid.")).Resume(t.Context(), orchestrator.Resumption{
		Run: "r", Replies: []orchestrator.Reply{{WaitID: wait.ID, Approve: true}},
	}))
	require.NoError(t, err)
	require.Equal(t, "It is paid.", res.Output.Text())
	require.Equal(t, 1, paid)
}
