package orchestrator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// S4-1: the first and the last event carry what the loop was given and what it came to.
func TestS4_1_flatStartAndEnd(t *testing.T) {
	flat := orchestrator.Flat{Strategy: "react", MaxSteps: 3}
	var told []orchestrator.FlatEvent
	for e := range sequentialAgent(scripted.Text("Done!")).Stream(t.Context(), task("go")) {
		told = append(told, flat.From(e)...)
	}
	require.Equal(t, []orchestrator.FlatEvent{
		{Type: orchestrator.FlatStart, Strategy: "react", MaxSteps: 3},
		{Type: orchestrator.FlatTurnStart, Step: 1},
		{Type: orchestrator.FlatReason, Step: 1, Message: "Done!"},
		{Type: orchestrator.FlatCompletion, Steps: 1, Answer: "Done!"},
	}, told)
}

// An agent that is called as a tool is told as a tool: of what it does inside, only questions are.
func TestFlat_agentsAreTools(t *testing.T) {
	var flat orchestrator.Flat
	call := messages.ToolCall{ID: "c1", Name: "research"}
	var told []orchestrator.FlatType
	for _, e := range []orchestrator.Event{
		{Frame: "0", Detail: orchestrator.RunStarted{Strategy: "lead"}},
		{Frame: "0", Detail: orchestrator.FrameEntered{Strategy: "lead"}},
		{Frame: "0", Detail: orchestrator.StateChanged{To: "awaiting_model"}},
		{Frame: "0", Detail: orchestrator.StepTaken{Kind: nextstep.KindGetChatCompletion}},
		{Frame: "0", Detail: orchestrator.ToolStarted{Call: call}},
		{Frame: "0.1", Detail: orchestrator.FrameEntered{Strategy: "solve", CallID: "c1"}},
		{Frame: "0.1.1", Detail: orchestrator.FrameEntered{Strategy: "solve"}},
		{Frame: "0.1.1", Detail: orchestrator.StateChanged{To: "awaiting_model"}},
		{Frame: "0.1.1", Kind: orchestrator.EventTextDelta, Text: "not told"},
		{Frame: "0.1.1", Detail: orchestrator.ToolStarted{Call: call}},
		{Frame: "0.1.1", Detail: orchestrator.WaitStarted{Wait: machine.Wait{Text: "Which?"}}},
		{Frame: "0", Detail: orchestrator.ToolFinished{Output: messages.ToolOutput{CallID: "c1", ToolName: "research"}}},
		{Frame: "0", Detail: orchestrator.RunFinished{Status: orchestrator.StatusStopped}},
	} {
		for _, f := range flat.From(e) {
			require.NotContains(t, f.Message, "not told")
			told = append(told, f.Type)
		}
	}
	require.Equal(t, []orchestrator.FlatType{
		orchestrator.FlatStart, orchestrator.FlatTurnStart, orchestrator.FlatReason, orchestrator.FlatToolStart,
		orchestrator.FlatRequestInput, orchestrator.FlatToolComplete, orchestrator.FlatError,
	}, told)
}
