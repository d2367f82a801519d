package reflection_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/tools"
)

// start makes a strategy and starts it with the tool "look".
func start(cfg reflection.Config, in delegation.Input) (strategy.Strategy, nextstep.NextStep) {
	s := reflection.New(cfg)()
	s.(strategy.ToolUser).UseTools([]tools.Definition{{Name: "look"}})
	return s, s.Initialize(in)
}

func say(text string) llmclient.Response {
	return llmclient.Response{Message: messages.AssistantText(text), Finish: llmclient.FinishStop}
}

func call(id string) llmclient.Response {
	return llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: "look"}}}}
}

var goal = delegation.Input{Goal: "Write a poem."}

// A generator receives the input unchanged, and for a revision all that it needs in its goal.
func TestGenerator(t *testing.T) {
	in := delegation.Input{Messages: messages.History{messages.UserText("Write a poem.")}, Data: json.RawMessage(`{"n":1}`)}
	limits := delegation.Limits{ModelCalls: 3}
	s, step := start(reflection.Config{Generator: "poet", Tools: []string{"look"}, Limits: limits}, in)
	first := step.(nextstep.Delegate)
	require.Equal(t, nextstep.Delegate{Strategy: "poet", Input: in, Tools: []string{"look"}, Limits: limits}, first)

	poem := "Poem"
	s.ProcessDelegationResult(delegation.Output{Result: &poem, Data: json.RawMessage(`"Poem"`)})
	second := s.ProcessAPIResponse(say("Line 2 limps.")).(nextstep.Delegate)
	for _, part := range []string{"Write a poem.", "Poem", "Line 2 limps."} {
		require.Contains(t, second.Input.Goal, part)
	}
	require.Equal(t, in.Messages, second.Input.Messages)
	require.Equal(t, in.Data, second.Input.Data)

	out := s.ProcessDelegationResult(delegation.Output{Err: &delegation.Error{Code: "odd", Message: "no rhyme"}}).(nextstep.ReportError)
	require.EqualError(t, out.Err, "no rhyme")
	require.Equal(t, "Poem", out.Output.Text())
	require.JSONEq(t, `"Poem"`, string(out.Output.Data))
}

// A run that is stopped at any point has the last complete draft as its result or, before the
// first, the received part of it.
func TestStopKeepsTheDraft(t *testing.T) {
	cfg := &machine.Config{
		Strategies: strategy.Set{"r": reflection.New(reflection.Config{})}, Tools: []tools.Definition{{Name: "look", ReadOnly: true}},
	}
	answers := []nextstep.Answer{
		nextstep.APIResponse{Response: new(say("Poem"))},
		nextstep.APIResponse{Response: new(say("Line 2 limps."))},
		nextstep.APIResponse{Response: new(call("c1"))},
		nextstep.ToolResult{Output: messages.ToolOutput{CallID: "c1", ToolName: "look"}},
		nextstep.APIResponse{Response: new(say("Better poem"))},
	}
	for n, want := range []string{"Half a", "Poem", "Poem", "Poem", "Poem", "Better poem"} {
		m := machine.New(cfg)
		require.NoError(t, m.Apply(machine.Started{Run: "run", Input: goal}))
		answer := func(a nextstep.Answer) {
			pending := m.Open()[0]
			require.NoError(t, m.Apply(pending.Answered(a, time.Time{}, 0)))
		}
		for _, a := range answers[:n] {
			answer(a)
		}
		require.NoError(t, m.Apply(machine.Stopped{Reason: "enough", Now: true}))
		if !m.Done() {
			answer(nextstep.Failure{Code: delegation.CodeStopped, Partial: messages.AssistantText("Half a")})
		}
		require.Equal(t, want, m.Output().Text(), "stopped after %d answers", n)
		require.Equal(t, delegation.CodeStopped, m.Output().Err.Code)
		require.Contains(t, m.Output().Metadata, "approved")
	}
}

// Calls that a middleware changed are in the conversation in their changed form.
func TestEditCalls(t *testing.T) {
	s, _ := start(reflection.Config{}, goal)
	s.ProcessAPIResponse(call("c1"))
	s.(strategy.CallEditor).EditCalls([]messages.ToolCall{{ID: "c1", Name: "look", Arguments: `{"far":true}`}})
	h := s.ProcessToolResults([]messages.ToolOutput{{CallID: "c1"}}).(nextstep.GetChatCompletion).Request.Messages
	require.JSONEq(t, `{"far":true}`, h[1].(messages.Assistant).Calls()[0].Arguments)
}

func TestConfig_Check(t *testing.T) {
	for want, cfg := range map[string]reflection.Config{
		`reflection: OnRejected: "x" is not one of`:  {OnRejected: "x"},
		`reflection: MaxIterations is negative`:      {MaxIterations: -1},
		`reflection: Tools: names ["a"] more than`:   {Tools: []string{"a", "a"}},
		`reflection: Prompts: template: Revise`:      {Prompts: reflection.Prompts{Revise: "{{.Nothing}}"}},
		`reflection: Prompts: template: Critique:1:`: {Prompts: reflection.Prompts{Critique: "{{"}},
	} {
		s := reflection.New(cfg)()
		require.ErrorContains(t, s.(strategy.Checker).Check(), want)
		require.ErrorContains(t, s.Initialize(goal).(nextstep.ReportError).Err, want, "and without a check it cannot be started")
	}
}

// Every prompt can be replaced. If one cannot be filled in, the run ends and keeps the draft.
func TestPrompts(t *testing.T) {
	s, _ := start(reflection.Config{Prompts: reflection.Prompts{
		Critique: "Draft {{.Iteration}} of {{.MaxIterations}} for {{.Goal}} is {{.Draft}}: good?",
		Revise:   `{{if eq .Critique "worse"}}{{index .Critique 99}}{{end}}Mend: {{.Critique}}`,
	}}, goal)
	last := func(step nextstep.NextStep) string {
		return step.(nextstep.GetChatCompletion).Request.Messages.Last().(messages.User).Text()
	}
	require.Equal(t, "Draft 1 of 3 for Write a poem. is Poem: good?", last(s.ProcessAPIResponse(say("Poem"))))
	require.Equal(t, "Mend: line 2", last(s.ProcessAPIResponse(say("line 2"))))
	require.Equal(t, "Draft 2 of 3 for Write a poem. is Song: good?", last(s.ProcessAPIResponse(say("Song"))))
	broken := s.ProcessAPIResponse(say("worse")).(nextstep.ReportError)
	require.ErrorContains(t, broken.Err, "reflection: prompt Revise")
	require.Equal(t, "Song", broken.Output.Text())

	s, _ = start(reflection.Config{MaxRetries: 3, MaxToolRounds: 1, Prompts: reflection.Prompts{
		Again: "again: {{.Why}} {{.Problem}}", NotRun: "not run: {{.Why}}", Conclude: "conclude",
	}}, goal)
	cut := call("c1")
	cut.Finish = llmclient.FinishLength
	h := s.ProcessAPIResponse(cut).(nextstep.GetChatCompletion).Request.Messages
	require.Equal(t, "not run: cut_off", h[len(h)-2].(messages.Tool).Output)
	require.Equal(t, "again: cut_off", h.Last().(messages.User).Text())
	require.Equal(t, "again: empty", last(s.ProcessAPIResponse(say(" "))))
	malformed := nextstep.Failure{Code: delegation.Code(llmclient.CodeMalformedToolCall), Message: "no JSON"}
	require.Equal(t, "again: malformed no JSON", last(s.(strategy.FailureHandler).ProcessFailure(malformed)))
	s.ProcessAPIResponse(call("c2"))
	require.Equal(t, "conclude", last(s.ProcessToolResults([]messages.ToolOutput{{CallID: "c2", ToolName: "look"}})))
	end := s.ProcessAPIResponse(call("c3")).(nextstep.ReportError).Output.Messages
	require.Equal(t, "not run: limit", end.Last().(messages.Tool).Output)
	for finish, why := range map[llmclient.FinishReason]string{llmclient.FinishContentFilter: "withheld", llmclient.FinishToolCalls: "critique"} {
		s, _ = start(reflection.Config{MaxIterations: 1, Prompts: reflection.Prompts{NotRun: "not run: {{.Why}}"}}, goal)
		s.ProcessAPIResponse(say("Poem"))
		critique := call("c4")
		critique.Finish = finish
		var h messages.History
		switch step := s.ProcessAPIResponse(critique).(type) {
		case nextstep.Complete:
			h = step.Output.Messages
		case nextstep.ReportError:
			h = step.Output.Messages
		}
		require.Equal(t, "not run: "+why, h.Last().(messages.Tool).Output)
	}
}
