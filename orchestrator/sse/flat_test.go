package sse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/sse"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/tools"
)

func task(goal string) orchestrator.Task {
	return orchestrator.Task{Run: "r", Input: delegation.Input{Goal: goal}}
}

// S4-27: each of the nine types comes of one event of a loop, and reaches a front end under its
// name, with what it carries.
func TestS4_27_oneToOne(t *testing.T) {
	call, answer := messages.ToolCall{ID: "c1", Name: "look", Arguments: "{}"}, "Done!"
	flat := sse.Flat{MaxSteps: 3}
	require.Empty(t, flat.From(machine.Event{Frame: "0", Detail: machine.FrameEntered{Strategy: "react"}}))
	names := map[string]bool{}
	for _, c := range []struct {
		detail machine.Detail
		name   string
		want   sse.FlatEvent
	}{
		{machine.RunStarted{Strategy: "react"}, "agent_start", sse.FlatEvent{Strategy: "react", MaxSteps: 3}},
		{machine.StateChanged{To: "awaiting_model"}, "agent_turn_start", sse.FlatEvent{Step: 1}},
		{machine.StepTaken{Kind: nextstep.KindGetChatCompletion}, "agent_reason", sse.FlatEvent{Step: 1, Message: "I look."}},
		{machine.ToolStarted{Call: call}, "tool_start", sse.FlatEvent{Step: 1, Tool: "look", CallID: "c1"}},
		{machine.WaitStarted{Wait: machine.Wait{Text: "Which?"}}, "agent_request_input", sse.FlatEvent{Step: 1, Question: "Which?"}},
		{machine.ToolFinished{Output: messages.ToolOutput{CallID: "c1", ToolName: "look", Output: "seen"}}, "tool_complete", sse.FlatEvent{Step: 1, Tool: "look", CallID: "c1", Result: "seen"}},
		{machine.StepTaken{Kind: nextstep.KindExecuteTools}, "agent_observe", sse.FlatEvent{Step: 1}},
		{machine.RunFinished{Status: machine.StatusDone, Output: delegation.Output{Result: &answer}}, "agent_completion", sse.FlatEvent{Steps: 1, Answer: "Done!"}},
		{machine.RunFinished{Status: machine.StatusFailed, Output: delegation.Output{Err: &delegation.Error{Message: "broken"}}}, "agent_error", sse.FlatEvent{Message: "broken"}},
	} {
		told := flat.From(machine.Event{Frame: "0", Detail: c.detail})
		require.Len(t, told, 1, c.name)
		require.Equal(t, c.name, told[0].UpdateType())
		c.want.Type = told[0].Type
		require.Equal(t, c.want, told[0])
		names[c.name] = true
		if c.name == "agent_turn_start" {
			require.Empty(t, flat.From(machine.Event{Frame: "0", Kind: machine.EventTextDelta, Text: "I look."}))
		}
	}
	require.Len(t, names, 9)
	require.Empty(t, flat.From(machine.Event{Frame: "0", Detail: machine.RunFinished{Status: machine.StatusWaiting}}), "the question was told")
}

// A model that is asked again in the same state speaks in the same turn.
func TestFlat_sameState(t *testing.T) {
	flat := sse.Flat{}
	flat.From(machine.Event{Frame: "0", Detail: machine.StateChanged{From: "ready", To: "reasoning"}})
	flat.From(machine.Event{Frame: "0", Kind: machine.EventTextDelta, Text: "hm"})
	require.Empty(t, flat.From(machine.Event{Frame: "0", Detail: machine.StateChanged{From: "reasoning", To: "reasoning", On: "unforced"}}))
	require.Equal(t, []sse.FlatEvent{{Type: sse.FlatReason, Step: 1, Message: "hm"}},
		flat.From(machine.Event{Frame: "0", Detail: machine.StateChanged{From: "reasoning", To: "acting"}}))
}

// An agent that is called as a tool is told as a tool: of what it does inside, only questions are.
func TestFlat_agentsAreTools(t *testing.T) {
	var flat sse.Flat
	call := messages.ToolCall{ID: "c1", Name: "research"}
	var told []sse.FlatType
	for _, e := range []machine.Event{
		{Frame: "0", Detail: machine.RunStarted{Strategy: "lead"}},
		{Frame: "0", Detail: machine.FrameEntered{Strategy: "lead"}},
		{Frame: "0", Detail: machine.StateChanged{To: "awaiting_model"}},
		{Frame: "0", Detail: machine.StepTaken{Kind: nextstep.KindGetChatCompletion}},
		{Frame: "0", Detail: machine.ToolStarted{Call: call}},
		{Frame: "0.1", Detail: machine.FrameEntered{Strategy: "solve", CallID: "c1"}},
		{Frame: "0.1.1", Detail: machine.FrameEntered{Strategy: "solve"}},
		{Frame: "0.1.1", Detail: machine.StateChanged{To: "awaiting_model"}},
		{Frame: "0.1.1", Kind: machine.EventTextDelta, Text: "not told"},
		{Frame: "0.1.1", Detail: machine.ToolStarted{Call: call}},
		{Frame: "0.1.1", Detail: machine.WaitStarted{Wait: machine.Wait{Text: "Which?"}}},
		{Frame: "0", Detail: machine.ToolFinished{Output: messages.ToolOutput{CallID: "c1", ToolName: "research"}}},
		{Frame: "0", Detail: machine.RunFinished{Status: machine.StatusStopped}},
	} {
		for _, f := range flat.From(e) {
			require.NotContains(t, f.Message, "not told")
			told = append(told, f.Type)
		}
	}
	require.Equal(t, []sse.FlatType{
		sse.FlatStart, sse.FlatTurnStart, sse.FlatReason, sse.FlatToolStart,
		sse.FlatRequestInput, sse.FlatToolComplete, sse.FlatError,
	}, told)
}

// In another process a Flat learns which frames stand open, and so goes on as the one before: what
// an agent does inside is not told, and what the loop observes is no reason.
func TestFlat_resumed(t *testing.T) {
	ask := scripted.Call(tools.AskUserName, `{"question":"Which?"}`, "2")
	for name, c := range map[string]struct {
		replies []scripted.Reply
		want    []sse.FlatEvent
	}{
		"solve": {
			[]scripted.Reply{scripted.Calls(scripted.Call("helper", `{"goal":"look"}`, "1")), scripted.Calls(ask), scripted.Text("inside"), scripted.Text("done")},
			[]sse.FlatEvent{
				{Type: sse.FlatToolComplete, Step: 1, Tool: "helper", CallID: "1", Result: "inside"},
				{Type: sse.FlatObserve, Step: 1},
				{Type: sse.FlatTurnStart, Step: 2},
				{Type: sse.FlatReason, Step: 2, Message: "done"},
				{Type: sse.FlatCompletion, Steps: 2, Answer: "done"},
			},
		},
		"loop": {
			[]scripted.Reply{scripted.Text("I ask."), scripted.Calls(ask), scripted.Text("It is that."), scripted.Text("I know."), scripted.Text("done")},
			[]sse.FlatEvent{
				{Type: sse.FlatToolComplete, Step: 1, Tool: "ask_user", CallID: "2", Result: "that"},
				{Type: sse.FlatObserve, Step: 1, Message: "It is that."},
				{Type: sse.FlatTurnStart, Step: 2},
				{Type: sse.FlatReason, Step: 2, Message: "I know."},
				{Type: sse.FlatCompletion, Steps: 2, Answer: "done"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := agent(t, scripted.New(c.replies...), with(tools.AskUser(), orchestrator.AgentTool(orchestrator.Agent{
				Definition: tools.Definition{Name: "helper", ReadOnly: true}, Strategy: "solve",
			})), func(cfg *orchestrator.Config) {
				cfg.Store, cfg.Default = new(checkpoint.Memory), name
				cfg.Strategies["loop"] = reasonactobserve.New(reasonactobserve.Config{})
			})
			res, err := o.Run(t.Context(), task("go"))
			require.NoError(t, err)
			flat := sse.Flat{Turns: 1}
			var told []sse.FlatEvent
			replies := []machine.Reply{{WaitID: res.Waits[0].ID, Text: "that"}}
			for e, err := range o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: replies}) {
				require.NoError(t, err)
				told = append(told, flat.From(e)...)
			}
			require.Equal(t, c.want, told)
			require.Equal(t, 2, flat.Turns)
		})
	}
}

// Another strategy may have the state executing, too; a turn that was begun before is not begun
// again.
func TestFlat_resumedOthers(t *testing.T) {
	executing := machine.RunResumed{Open: []machine.OpenFrame{{Frame: "0", State: "executing"}}}
	asking := machine.RunResumed{Open: []machine.OpenFrame{{Frame: "0", State: "awaiting_model"}}}
	for name, c := range map[string]struct {
		events []machine.Detail
		want   []sse.FlatType
	}{
		"steps": {
			[]machine.Detail{executing, machine.StepTaken{Kind: nextstep.KindExecuteTools}, machine.StateChanged{From: "executing", To: "asking"}, machine.StepTaken{Kind: nextstep.KindGetChatCompletion}},
			[]sse.FlatType{sse.FlatObserve, sse.FlatTurnStart, sse.FlatReason},
		},
		"broken off": {
			[]machine.Detail{asking, machine.StepTaken{Kind: nextstep.KindGetChatCompletion}},
			[]sse.FlatType{sse.FlatReason},
		},
	} {
		flat := sse.Flat{Turns: 3}
		var told []sse.FlatType
		for _, d := range c.events {
			for _, e := range flat.From(machine.Event{Frame: "0", Detail: d}) {
				told = append(told, e.Type)
			}
		}
		require.Equal(t, c.want, told, name)
	}
}

// looped runs a task on a scripted model and returns what a front end of turns is told.
func looped(t *testing.T, replies ...scripted.Reply) []string {
	t.Helper()
	var flat sse.Flat
	var names []string
	for e := range turns(replies...).Stream(t.Context(), task("go")) {
		for _, told := range flat.From(e) {
			names = append(names, told.UpdateType())
		}
	}
	return names
}

// S4-14: one tool, then the answer, under the names of a loop with turns.
func TestS4_14_happyPath(t *testing.T) {
	require.Equal(t, []string{
		"agent_start",
		"agent_turn_start", "agent_reason", "tool_start", "tool_complete", "agent_observe",
		"agent_turn_start", "agent_reason", "agent_completion",
	}, looped(t, scripted.Calls(scripted.Call("one", "{}", "1")), scripted.Text("Done!")))
}
