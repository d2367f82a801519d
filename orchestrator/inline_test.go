package orchestrator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A tool that runs inline is not read-only by that: an intent is stored before its call, unless its
// definition says that none is needed.
func TestInline_isNotReadOnly(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		store := &checkpoint.Memory{}
		book := tools.NewInline(tools.Definition{Name: "book", ReadOnly: readOnly}, func(struct{}) (string, error) { return "booked", nil })
		o := batchOf(t, callsTo("book"), []tools.Tool{book}, func(cfg *orchestrator.Config) { cfg.Store = store })
		res, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err)
		intents := 0
		for e, err := range store.Read(t.Context(), checkpoint.Key{Run: res.Run}, 1) {
			require.NoError(t, err)
			r, err := machine.ReadRecord(e.Data)
			if _, ok := r.(machine.Intended); ok && err == nil {
				intents++
			}
		}
		require.Equal(t, map[bool]int{false: 1, true: 0}[readOnly], intents)
	}
}
