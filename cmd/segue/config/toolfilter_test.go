package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
)

// Every strategy that works with tools can be offered no more than an agent may use.
func TestToolFilter_everyStrategy(t *testing.T) {
	for _, name := range builtin.Names() {
		factory, err := builtin.New(name, nil)
		require.NoError(t, err)
		if _, ok := factory().(strategy.ToolUser); ok {
			wrapped, ok := offerOnly(factory, nil)().(toolFilter)
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
func TestToolFilter_successors(t *testing.T) {
	factory, err := builtin.New("complete-task", []byte(`{"handoffs": [{"strategy": "books"}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"books"}, strategy.NamesOf(offerOnly(factory, []string{})()).Handoffs)
}
