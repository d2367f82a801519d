package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
)

// Every strategy that works with tools can be offered no more than an agent may use.
func TestFit_offered(t *testing.T) {
	for _, name := range builtin.Names() {
		factory, err := builtin.New(name, nil)
		require.NoError(t, err)
		if _, ok := factory().(strategy.ToolUser); ok {
			wrapped, ok := fit(factory, []string{}, nil)().(fitted)
			require.True(t, ok, name)
			require.Implements(t, (*strategy.Listener)(nil), wrapped, name)
			own := 0
			if p, ok := factory().(strategy.ToolProvider); ok {
				own = len(p.Tools())
			}
			require.Len(t, wrapped.Tools(), own, name)
		}
	}
}

// Who may be handed over to is known, whatever tools are offered.
func TestFit_successors(t *testing.T) {
	factory, err := builtin.New("complete-task", []byte(`{"handoffs": [{"strategy": "books"}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"books"}, strategy.NamesOf(fit(factory, []string{}, nil)()).Handoffs)
}

// A filter of tools bounds what is offered, and keeps what the strategy says besides.
func TestFit_Bounds(t *testing.T) {
	bounds := func(cfg completetask.Config) strategy.Bounds {
		return fit(completetask.New(cfg), []string{"a", "b"}, nil)().(strategy.Bounder).Bounds()
	}
	require.Equal(t, []string{"a", "b"}, bounds(completetask.Config{}).Offers)
	b := bounds(completetask.Config{Tools: []string{"b", "c"}, OnLimit: completetask.LimitFail})
	require.Equal(t, []string{"b"}, b.Offers)
	require.NotEmpty(t, b.Triggers)
}

// Every strategy whose plans name executors knows those of an agent by the names of strategies.
func TestFit_planner(t *testing.T) {
	tried := 0
	for _, name := range builtin.Names() {
		if !strategies.KeysOf(name)["executors"] {
			continue
		}
		tried++
		factory, err := builtin.New(name, []byte(`{"executor": "complete-task"}`))
		require.NoError(t, err)
		made, ok := fit(factory, nil, map[string]string{"complete-task": "main/complete-task"})().(fitted)
		require.True(t, ok, name)
		require.Implements(t, (*strategy.Listener)(nil), made, name)
		require.Equal(t, []string{"main/complete-task"}, made.Names().Children, name)

		factory, err = builtin.New(name, []byte(`{"executor": "complete-task", "executors": ["other"], "parallel": 2}`))
		require.NoError(t, err)
		var agents []string
		for _, tool := range fit(factory, nil, map[string]string{"complete-task": "main/complete-task"})().(fitted).Tools() {
			if a := machine.AgentOf(tool); a != nil {
				agents = append(agents, tool.Definition().Name+" "+a.Strategy)
			}
		}
		require.Equal(t, []string{"execute_step main/complete-task", "execute_step_2 other"}, agents, name)
	}
	require.Equal(t, 2, tried)
}
