package pgstore_test

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

// contract is how a run of a store changes.
func contract() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{checkpointtest.Standing{}} },
		Step: func(state, op, _ any) (next []any) {
			for _, s := range state.(checkpointtest.Standing).After(op.(checkpointtest.Operation)) {
				next = append(next, s)
			}
			return next
		},
	}
	return model.ToModel()
}

func linearizable(history []checkpointtest.Operation) bool {
	var all []porcupine.Operation
	for _, op := range history {
		all = append(all, porcupine.Operation{ClientId: op.Client, Input: op, Call: int64(op.Began), Return: int64(op.Ended)})
	}
	return porcupine.CheckOperations(contract(), all)
}

// What clients are told of one run is what one after the other would be told.
func TestContend(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	for seed := range uint64(12) {
		history, err := checkpointtest.Contend(t.Context(), s, key(string(rune('a'+seed))), 5, 24, seed)
		require.NoError(t, err)
		require.True(t, linearizable(history), "%v", history)
	}
}
