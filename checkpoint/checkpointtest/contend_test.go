package checkpointtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
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

func ExampleContend() {
	store := new(checkpoint.Memory)
	history, err := checkpointtest.Contend(context.Background(), store, checkpoint.Key{Run: "run-1"}, 4, 20, 1)
	fmt.Println(err, linearizable(history))
	// Output: <nil> true
}

func TestContend(t *testing.T) {
	kinds := map[error]int{}
	for seed := range uint64(60) {
		history, err := checkpointtest.Contend(t.Context(), new(checkpoint.Memory), checkpoint.Key{Run: "r"}, 5, 24, seed)
		require.NoError(t, err)
		require.True(t, linearizable(history), "%v", history)
		for _, op := range history {
			kinds[op.Told()]++
		}
	}
	t.Log(kinds)
	for _, kind := range []error{nil, checkpoint.ErrFenced, checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrLeased} {
		require.Positive(t, kinds[kind], "%v", kind)
	}
}
