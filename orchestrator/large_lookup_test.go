package orchestrator_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// What a tool finds out about a call that a crash cut off is kept like the result of a call.
func TestLargeResults_lookup(t *testing.T) {
	text, whole := numberedLines(30_000), new(checkpoint.Memory) // longer than results are that are not kept
	id := idOf(t, text)
	var paid atomic.Int32
	look := func(context.Context, string, string) (string, bool, error) { return text, true, nil }
	build := func(store checkpoint.Store, script ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(script...), stored(store), with(tools.WithLookup(counted("pay", &paid), look)),
			keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 300}))
	}
	ran(t, build(whole, scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), task("go"))
	left := died(t, whole, 3, 0) // started, answered, intended
	res := goOn(t, build(left, reads("2", `{"id":%q,"offset":290000,"length":20}`, id), scripted.Text("done")), "r")
	require.EqualValues(t, 1, paid.Load(), "it was not made again")
	outs := res.Output.ToolMetas()
	require.Equal(t, messages.Kept{ID: id, Size: int64(len(text))}, outs[0].Kept)
	require.Contains(t, outs[1].Output, text[290000:290020])
}
