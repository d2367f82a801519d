package reasonactobserve_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/sse"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
)

// S4-1: a loop that decides at once to finish is told in four events, of which the first has what
// the loop was given, and the last what it came to.
func TestS4_1_finishesAtOnce(t *testing.T) {
	model := scripted.New(decide(`{"finish":true,"final_answer":"Done!"}`), scripted.Text("never"))
	flat := sse.Flat{Strategy: "react", MaxSteps: 3}
	var told []sse.FlatEvent
	var end machine.RunFinished
	for e, err := range agent(t, model, rao.Config{MaxSteps: 3}).Stream(t.Context(), task("go")) {
		require.NoError(t, err)
		told = append(told, flat.From(e)...)
		end, _ = e.Detail.(machine.RunFinished)
	}
	require.Equal(t, []sse.FlatEvent{
		{Type: sse.FlatStart, Strategy: "react", MaxSteps: 3},
		{Type: sse.FlatTurnStart, Step: 1},
		{Type: sse.FlatReason, Step: 1},
		{Type: sse.FlatCompletion, Steps: 1, Answer: "Done!"},
	}, told)
	require.Equal(t, machine.StatusDone, end.Status)
	require.Equal(t, "Done!", end.Output.Text())
	require.Equal(t, json.RawMessage("1"), end.Output.Metadata["steps"])
	require.Len(t, model.Requests(), 1)
}
