package explore_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
)

// named is a strategy that is a value, and cannot be compared.
type named struct {
	*worker
	tools []string
}

func (n named) Snapshot() (json.RawMessage, error) { return n.worker.Snapshot() }

// A strategy need not be a pointer.
func TestRun_values(t *testing.T) {
	r, err := explore.Run(func() strategy.Strategy {
		return named{newWorker("")().(*worker), []string{"look"}}
	}, explore.Options{Odd: 1, Depth: 3})
	require.NoError(t, err)
	require.Empty(t, r.Violations)
	require.Greater(t, r.States, 1)
}
