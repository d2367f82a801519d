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
			own := 0
			if p, ok := factory().(strategy.ToolProvider); ok {
				own = len(p.Tools())
			}
			require.Len(t, wrapped.Tools(), own, name)
		}
	}
}
