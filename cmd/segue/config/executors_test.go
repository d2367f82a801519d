package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
)

// Every strategy whose plans name executors knows those of an agent by the names of strategies.
func TestStandingFor_everyPlanner(t *testing.T) {
	tried := 0
	for _, name := range builtin.Names() {
		if !strategies.KeysOf(name)["executors"] {
			continue
		}
		tried++
		factory, err := builtin.New(name, []byte(`{"executor": "complete-task"}`))
		require.NoError(t, err)
		made, ok := standingFor(factory, map[string]string{"complete-task": "main/complete-task"})().(plannerOfAgent)
		require.True(t, ok, name)
		require.Implements(t, (*strategy.Listener)(nil), made, name)
		require.Equal(t, []string{"main/complete-task"}, made.Names().Children, name)

		factory, err = builtin.New(name, []byte(`{"executor": "complete-task", "executors": ["other"], "parallel": 2}`))
		require.NoError(t, err)
		var agents []string
		for _, tool := range standingFor(factory, map[string]string{"complete-task": "main/complete-task"})().(plannerOfAgent).Tools() {
			if a := machine.AgentOf(tool); a != nil {
				agents = append(agents, tool.Definition().Name+" "+a.Strategy)
			}
		}
		require.Equal(t, []string{"execute_step main/complete-task", "execute_step_2 other"}, agents, name)
	}
	require.Equal(t, 2, tried)
}
