package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// TestRun_intentIsWithdrawn: of two agents that are called at once, the first reaches the limit of
// the run, which ends before the second begins.
func TestRun_intentIsWithdrawn(t *testing.T) {
	helper := tools.Definition{Name: "helper"}
	task := completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1})
	both := func(e *machine.Effect) []explore.Reaction {
		if !offers(e, "helper") {
			return nil
		}
		return []explore.Reaction{explore.Reply("calls two at once", llmclient.FinishToolCalls,
			messages.ToolCall{ID: "one", Name: "helper", Arguments: `{"goal":"north"}`}, messages.ToolCall{ID: "two", Name: "helper", Arguments: `{"goal":"south"}`})}
	}
	r, err := explore.Run(task, explore.Options{
		Tools:      []tools.Definition{helper},
		Agents:     map[string]*machine.Agent{"helper": machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: helper, Strategy: "worker"}))},
		Strategies: strategy.Set{"worker": task}, World: both, Limits: delegation.Limits{ModelCalls: 1}, Odd: 1,
	})
	require.NoError(t, err)
	require.Empty(t, r.Violations)
	require.True(t, r.Exhausted)
}
