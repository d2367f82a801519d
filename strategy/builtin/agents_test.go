package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// S1-30: an agent that reflection calls runs its own strategy, one level deeper; past the depth
// limit the call is a tool error, and reflection continues.
func TestS1_30_agentOfReflection(t *testing.T) {
	agent := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "expert"}, Strategy: "complete-task"})
	run := func(limits delegation.Limits, replies ...scripted.Reply) (orchestrator.Result, []machine.FrameEntered, []int) {
		model := scripted.New(replies...)
		o, err := orchestrator.New(orchestrator.Config{
			Client: model, Strategies: builtin.All(), Default: "reflection", Tools: []tools.Tool{agent},
		})
		require.NoError(t, err)
		var entered []machine.FrameEntered
		var depths []int
		res, err := orchestrator.Collect(func(yield func(machine.Event, error) bool) {
			for e, err := range o.Stream(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Write a poem."}, Limits: limits}) {
				if f, ok := e.Detail.(machine.FrameEntered); ok {
					entered, depths = append(entered, f), append(depths, e.Depth)
				}
				if !yield(e, err) {
					return
				}
			}
		})
		require.NoError(t, err)
		require.Zero(t, model.Remaining())
		require.Equal(t, "Poem", res.Output.Text())
		return res, entered, depths
	}
	ask, poem, approved := scripted.Calls(scripted.Call("expert", `{"goal":"What rhymes?"}`, "c1")), scripted.Text("Poem"), scripted.Text("APPROVED")

	res, entered, depths := run(delegation.Limits{}, ask, scripted.Text("home and Rome"), poem, approved)
	require.Equal(t, "home and Rome", res.Output.ToolMetas()[0].Output)
	require.Equal(t, []string{"reflection", "complete-task"}, []string{entered[0].Strategy, entered[1].Strategy})
	require.Equal(t, "What rhymes?", entered[1].Goal)
	require.Equal(t, []int{1, 2}, depths)

	res, entered, _ = run(delegation.Limits{Depth: 1}, ask, poem, approved)
	require.Len(t, entered, 2)
	require.Equal(t, messages.StatusFailed, res.Output.ToolMetas()[0].Status)
	require.Contains(t, res.Output.ToolMetas()[0].Output, "the limit of 1 depth is reached")
}
