package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/strategy"
)

// value is a strategy that is no pointer, and that cannot be compared.
type value struct {
	*pupil
	names []string
}

// A strategy may be a value around another, as wrappers are, even one that == panics with.
func TestRun_aStrategyThatCannotBeCompared(t *testing.T) {
	wrapped := twist{factory: func(sound func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy { return value{sound().(*pupil), nil} }
	}}
	o := school
	o.States = prove.DepthOr(20, o.States)
	require.Empty(t, explored(t, &wrapped, o))
}
