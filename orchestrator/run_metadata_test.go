package orchestrator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// The metadata of the output of a run say what it was given and has left, and say the same when its
// end is told again from the journal.
func TestRun_metadata(t *testing.T) {
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Text("hi")), Store: new(checkpoint.Memory),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	ta := task("go")
	ta.Limits.ModelCalls = 3
	res := ran(t, o, ta)
	var run delegation.RunMetadata
	ok, err := res.Output.Metadata.Decode(delegation.MetadataRun, &run)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, delegation.RunMetadata{Strategy: "solve", Limits: res.Limits, Left: res.Left}, run)
	require.Equal(t, 3, run.Limits.ModelCalls)
	require.Equal(t, 2, run.Left.ModelCalls)
	require.Contains(t, res.Output.Metadata, "model_calls", "the strategy's own stay")

	again, err := orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: res.Run}))
	require.NoError(t, err)
	require.Equal(t, res.Output.Metadata, again.Output.Metadata)
}
