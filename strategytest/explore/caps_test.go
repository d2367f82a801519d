package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/strategytest/alphabet"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// A strategy with large caps is exhausted once they are lowered, and its stories say so.
func TestOptions_caps(t *testing.T) {
	large := completetask.New(completetask.Config{})
	o := explore.Options{Odd: 1, States: 400, Caps: 1, Repeats: -1, Queries: []explore.Query{explore.CanReach(explore.InState("subject", "concluding"))}}
	o.Tools = []tools.Definition{look}
	r, err := explore.Run(large, o)
	require.NoError(t, err)
	require.Empty(t, r.Violations)
	require.True(t, r.Exhausted, r)
	require.Contains(t, r.Results[0].Story, "walk subject caps=1 steps\n")

	o.Caps, o.States = 0, 60
	r, err = explore.Run(large, o)
	require.NoError(t, err)
	require.False(t, r.Exhausted, r)
	require.False(t, r.Results[0].Holds, r)
}

// A call of an agent is in progress while the agent is at work.
func TestCalls_agent(t *testing.T) {
	helper := tools.Definition{Name: "helper", NeedsApproval: true}
	o := explore.Options{
		Tools: []tools.Definition{helper}, World: alphabet.Goals("helper"), States: 500,
		Agents:     map[string]*machine.Agent{"helper": machine.AgentOf(orchestrator.AgentTool(orchestrator.Agent{Definition: helper, Strategy: "worker"}))},
		Strategies: strategy.Set{"worker": completetask.New(completetask.Config{MaxModelCalls: 1})},
	}
	found := result(t, clerk, o, explore.CanReach(explore.Calls("helper")))
	require.True(t, found.Holds)
	require.Equal(t, []string{"#1 gives helper a goal", "#2/1/1 says yes"}, found.Path)
}
