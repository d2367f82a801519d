package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A turn that is forgotten or pruned and begun anew has the same id. Its payment has another key: a
// provider would take it for the old one otherwise. When such a run is resumed its keys stay.
func TestSession_begunAnewHasOtherKeys(t *testing.T) {
	store := new(checkpoint.Memory)
	var keys []string
	pay := tools.NewRaw(tools.Definition{Name: "pay", Idempotent: true}, func(ctx context.Context, _ string) (string, error) {
		keys = append(keys, tools.IdempotencyKey(ctx))
		return "paid", nil
	})
	said := func() *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), stored(store), with(pay))
	}
	for range 2 {
		res := ran(t, said(), turn("Pay."))
		require.Equal(t, "chat.1", res.Run)
		_, err := checkpoint.Forget(t.Context(), store, checkpoint.Key{Run: "chat.1"})
		require.NoError(t, err)
	}
	require.Len(t, keys, 2)
	require.NotEqual(t, keys[0], keys[1])

	ran(t, said(), turn("Pay."))
	key, left := checkpoint.Key{Run: "chat.1"}, new(checkpoint.Memory) // as if the process had died before the call was answered
	for rec, err := range store.Read(t.Context(), key, 1) {
		require.NoError(t, err)
		if rec.Seq <= 2 {
			require.NoError(t, left.Append(t.Context(), checkpoint.Batch{Key: key, Records: []checkpoint.Record{rec}, Writer: "dead", Epoch: 1, Header: new(checkpoint.Header)}))
		}
	}
	o := solver(t, scripted.New(scripted.Text("done")), stored(left), with(pay))
	goOn(t, o, "chat.1")
	require.Len(t, keys, 4)
	require.Equal(t, keys[2], keys[3])
}
