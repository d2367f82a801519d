package orchestrator_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// What a strategy must not do fails its frame, not the process, and the messages so far come back.
func TestMachine_badStrategies(t *testing.T) {
	open := messages.History{messages.UserText("x"), messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "n"}}}}
	for name, test := range map[string]struct {
		next func() nextstep.NextStep
		code delegation.Code
		want string
	}{
		"panics":      {func() nextstep.NextStep { panic("oops") }, delegation.CodePanic, `strategy "main": ProcessAPIResponse failed: panicked with a string`},
		"nil":         {func() nextstep.NextStep { return nil }, delegation.CodeDefect, "returned no step"},
		"pointer":     {func() nextstep.NextStep { return &nextstep.Complete{} }, delegation.CodeDefect, "returned a *nextstep.Complete, which is no step"},
		"no messages": {func() nextstep.NextStep { return nextstep.GetChatCompletion{} }, delegation.CodeDefect, "holds no messages"},
		"open call": {func() nextstep.NextStep {
			return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: open}}
		}, delegation.CodeInvalid, "break the laws"},
		"call twice": {func() nextstep.NextStep {
			return nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "1"}, {ID: "1"}}}
		}, delegation.CodeDefect, `whose id "1" is empty or not its own`},
		"call no id":    {func() nextstep.NextStep { return nextstep.ExecuteTools{Calls: []messages.ToolCall{{}}} }, delegation.CodeDefect, `whose id "" is empty`},
		"error nil":     {func() nextstep.NextStep { return nextstep.ReportError{} }, delegation.CodeDefect, "ReportError without an error"},
		"error panics":  {func() nextstep.NextStep { return nextstep.ReportError{Err: (*nilError)(nil)} }, delegation.CodePanic, "the Error method of its error failed: panicked: runtime error"},
		"data no JSON":  {func() nextstep.NextStep { return nextstep.Complete{Output: delegation.Output{Data: []byte("{")}} }, delegation.CodeInvalid, "the data of the output is not JSON"},
		"plain failure": {func() nextstep.NextStep { return nextstep.ReportError{Err: errors.New("no luck")} }, delegation.CodeFailed, "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, only(func() *scene {
				return &scene{reply: func(llmclient.Response) nextstep.NextStep { return test.next() }}
			}))
			step(t, m, said("so far"))
			require.True(t, m.Done())
			require.Equal(t, test.code, m.Output().Err.Code)
			require.ErrorContains(t, m.Output().Err, test.want)
			require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("so far")}, m.Output().Messages)
		})
	}
}

func TestMachine_badSetUp(t *testing.T) {
	for want, cfg := range map[string]orchestrator.MachineConfig{
		`Root: strategy: no strategy "x"; known: a, b`:       {Root: "x", Set: strategy.Set{"a": nil, "b": nil}},
		`the factory of "a" is nil`:                          {Root: "a", Set: strategy.Set{"a": nil}},
		`the factory of strategy "a" panicked with a string`: {Root: "a", Set: strategy.Set{"a": func() strategy.Strategy { panic("oops") }}},
	} {
		_, err := orchestrator.NewMachine(cfg)
		require.ErrorContains(t, err, want)
		_, ok := errors.AsType[*orchestrator.ConfigError](err)
		require.True(t, ok)
	}
}

// A stop unwinds every frame, closes open calls, and keeps what there is.
func TestMachine_stop(t *testing.T) {
	build := func() *orchestrator.Machine {
		m := machine(t, map[string]func() *scene{
			"main": func() *scene {
				return &scene{reply: func(llmclient.Response) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "part"}}
				}}
			},
			"child": func() *scene {
				return &scene{
					start: func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
					reply: func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
				}
			},
		}, offering("a", "b"))
		step(t, m, said("let me delegate"))
		return m
	}
	check := func(m *orchestrator.Machine) {
		require.True(t, m.Done())
		require.Equal(t, orchestrator.StatusStopped, m.Status())
		require.Equal(t, delegation.CodeStopped, m.Output().Err.Code)
		require.ErrorContains(t, m.Output().Err, "enough")
		require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("let me delegate")}, m.Output().Messages)
	}
	t.Run("while asking", func(t *testing.T) {
		m := build()
		step(t, m, nextstep.Stop{Reason: "enough", Partial: messages.AssistantText("par")})
		check(m)
	})
	t.Run("while tools run", func(t *testing.T) {
		m := build()
		step(t, m, calling("a", "b"))
		_, wrong := errors.AsType[*orchestrator.AnswerError](m.Step(nextstep.Stop{Results: []messages.ToolOutput{{CallID: "c1"}}}))
		require.True(t, wrong)
		step(t, m, nextstep.Stop{Reason: "enough", Results: []messages.ToolOutput{
			{CallID: "c1", Output: "A", Status: messages.StatusOK},
			{CallID: "c2", Status: messages.StatusUnknown, Reason: "interrupted"},
		}})
		check(m)
	})
	t.Run("before tools run", func(t *testing.T) {
		m := build()
		step(t, m, calling("a", "b"))
		step(t, m, nextstep.Stop{Reason: "enough"})
		check(m)
	})
}

// The frame that was stopped keeps what a model had said, and the results that tools had come to.
func TestMachine_stopKeepsPartial(t *testing.T) {
	m := machine(t, only(func() *scene { return &scene{} }))
	step(t, m, nextstep.Stop{Reason: "enough", Partial: messages.AssistantText("half an ans")})
	require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("half an ans")}, m.Output().Messages)
}

// Whatever a caller writes into what it was handed, the machine does not see.
func TestMachine_scribble(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{reply: func(r llmclient.Response) nextstep.NextStep { return nextstep.ReportError{Err: errors.New("end")} }}
	}))
	req := m.Pending().(nextstep.GetChatCompletion).Request
	grown := append(req.Messages, messages.UserText("scribble"))
	step(t, m, said("x"))
	require.Len(t, m.Output().Messages, 2)
	require.Equal(t, messages.AssistantText("x"), m.Output().Messages[1])
	require.Equal(t, messages.UserText("scribble"), grown[1])
}

// nilError is an error whose text cannot be had from a nil pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// Every call is told to have finished, started or not, before its step is told to be taken.
func TestMachine_toolFinishedForEachCall(t *testing.T) {
	build := func(limit int) *orchestrator.Machine {
		return machine(t, only(func() *scene {
			return &scene{
				start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a") },
				reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
				results: func([]messages.ToolOutput) nextstep.NextStep { return done("") },
			}
		}), offering("a"), func(c *orchestrator.MachineConfig) { c.Limits.ToolCalls = limit })
	}
	order := func(m *orchestrator.Machine) []orchestrator.EventKind {
		var list []orchestrator.EventKind
		for _, e := range m.Events() {
			if e.Kind == orchestrator.EventToolFinished || e.Kind == orchestrator.EventStepTaken {
				list = append(list, e.Kind)
			}
		}
		return list
	}
	m := build(0)
	m.Events()
	step(t, m, calling("a", "b"))
	step(t, m, nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c1"}}})
	require.Equal(t, []orchestrator.EventKind{orchestrator.EventStepTaken, orchestrator.EventToolFinished, orchestrator.EventStepTaken}, order(m),
		"the Machine tells of the call that it refused, the loop of the other")

	m = build(1)
	m.Events()
	step(t, m, calling("a", "a"))
	require.Equal(t, orchestrator.StatusLimit, m.Status())
	require.Equal(t, []orchestrator.EventKind{orchestrator.EventStepTaken, orchestrator.EventToolFinished, orchestrator.EventToolFinished}, order(m))
}
