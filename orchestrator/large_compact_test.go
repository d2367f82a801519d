package orchestrator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
)

// A result whose call was summarized can be read in the next turn of a session, if the summary
// names it.
func TestLargeResults_summarized(t *testing.T) {
	store, text := new(checkpoint.Memory), numberedLines(400)
	id := idOf(t, text)
	compacts := func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{Compact: &compaction.Config{Keep: 1}})}
	}
	build := scriptedBy(t, compacts, with(returning("one", text)), stored(store), keeping(orchestrator.LargeResults{Keep: 1 << 20, Show: 3000}))
	first, err := build(
		scripted.Calls(scripted.Call("one", "{}", "1")), reads("2", `{"id":%q,"offset":900,"length":10}`, id),
		scripted.Error(&llmclient.Error{Code: llmclient.CodeContextLength}),
		scripted.Text("The lines are in "+id), scripted.Text("done")).Run(t.Context(), turn("go"))
	require.NoError(t, err)
	for _, o := range first.Output.ToolMetas() {
		require.Empty(t, o.Kept.ID)
	}
	next := ran(t, build(reads("3", `{"id":%q,"offset":2000,"length":10}`, id), scripted.Text("done")), turn("and now?"))
	outs := next.Output.ToolMetas()
	require.Contains(t, outs[len(outs)-1].Output, "line 0200")
	require.True(t, outs[len(outs)-1].Untrusted, "no record says any more where it came from")
}
