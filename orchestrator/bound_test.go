package orchestrator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// The bound of a task is that of its run: its limits, its tools, and its own strategy.
func TestOrchestrator_Bound(t *testing.T) {
	few := completetask.New(completetask.Config{MaxModelCalls: 3, MaxRetries: -1})
	helper := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "helper"}, Strategy: "few", Tools: []string{}})
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(), Strategies: strategy.Set{"few": few}, Tools: []tools.Tool{helper}, Limits: delegation.Limits{ToolCalls: 7},
	})
	require.NoError(t, err)
	most := func(task orchestrator.Task) []int64 {
		b, err := o.Bound(task, bound.Options{})
		require.NoError(t, err)
		return []int64{b.ModelCalls.Most, b.ToolCalls.Most, b.Depth.Most}
	}
	require.Equal(t, []int64{4 + 7*4, 7, 2}, most(orchestrator.Task{}))
	require.Equal(t, []int64{4 + 2*4, 2, 2}, most(orchestrator.Task{Limits: delegation.Limits{ToolCalls: 2}}))
	require.Equal(t, []int64{4, 0, 1}, most(orchestrator.Task{Tools: []string{}}))
	require.Equal(t, []int64{3, 0, 1}, most(orchestrator.Task{Tools: []string{}, Factory: completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1})}))

	_, err = o.Bound(orchestrator.Task{Tools: []string{"nothing"}}, bound.Options{})
	require.ErrorContains(t, err, "nothing")
	_, err = o.Bound(orchestrator.Task{Strategy: "nobody"}, bound.Options{})
	require.ErrorContains(t, err, `no strategy "nobody"`)
}

// One goal of a call is one branch; only with FanOut there may be any number.
func TestAgentTool_branches(t *testing.T) {
	for _, fan := range []bool{false, true} {
		w := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "helper"}, Strategy: "few", FanOut: fan, Tools: []string{}})
		o, err := orchestrator.New(orchestrator.Config{
			Client: scripted.New(), Strategies: strategy.Set{"few": completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1})}, Tools: []tools.Tool{w},
		})
		require.NoError(t, err)
		b, err := o.Bound(orchestrator.Task{Limits: delegation.Limits{ToolCalls: 1, ModelCalls: -1, Steps: -1}}, bound.Options{})
		require.NoError(t, err)
		if fan {
			require.EqualValues(t, bound.Unbounded, b.ModelCalls.Most)
		} else {
			require.EqualValues(t, 2+2, b.ModelCalls.Most)
		}
	}
}
