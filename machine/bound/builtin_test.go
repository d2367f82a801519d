package bound_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// off are limits that bound nothing but the depth.
var off = delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1}

// of returns the bound of the strategy "main" of a set.
func of(t require.TestingT, cfg *machine.Config, l delegation.Limits) bound.Bound {
	b, err := bound.Of(cfg, machine.Started{Strategy: "main", Limits: l}, bound.Options{})
	require.NoError(t, err)
	return b
}

var oneTool = []tools.Definition{{Name: "t"}}

// With few tools nothing is searched for, and the bound counts no search.
func TestOf_searchForTools(t *testing.T) {
	searches := func(above, tools int) bool {
		st := completetask.New(completetask.Config{Search: toolsearch.Config{Above: above}})()
		st.(strategy.ToolUser).UseTools(toolsNamed(tools))
		most, limited := st.(strategy.Bounder).Bounds().Triggers["searched"]
		return !limited || most > 0
	}
	require.False(t, searches(0, 40))
	require.True(t, searches(0, 41))
	require.False(t, searches(-1, 41))
	require.True(t, searches(2, 3))
}

func toolsNamed(n int) (all []tools.Definition) {
	for i := range n {
		all = append(all, tools.Definition{Name: fmt.Sprint("tool_", i)})
	}
	return all
}

// The table does not say that a step begins again only after a refusal, and not after any summary.
func TestOf_compactingReasonActObserve(t *testing.T) {
	cfg := rao.Config{Compact: &compaction.Config{}}
	b := of(t, &machine.Config{Strategies: strategy.Set{"main": rao.New(cfg)}, Tools: oneTool}, off)
	require.GreaterOrEqual(t, b.ModelCalls.Most, int64(42+20+3*5))
	require.LessOrEqual(t, b.ModelCalls.Most, int64(42+20+3*5+5))
}
