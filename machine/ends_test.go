package machine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// nilError is an error whose text cannot be had from a nil pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

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
		"pointer":     {func() nextstep.NextStep { return &nextstep.Complete{} }, delegation.CodeDefect, "returned a *nextstep.Complete, which is not a step"},
		"no messages": {func() nextstep.NextStep { return nextstep.GetChatCompletion{} }, delegation.CodeDefect, "holds no messages"},
		"open call": {func() nextstep.NextStep {
			return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: open}}
		}, delegation.CodeInvalid, "break the laws"},
		"call twice": {func() nextstep.NextStep {
			return nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "1"}, {ID: "1"}}}
		}, delegation.CodeDefect, `whose id "1" is empty or a duplicate`},
		"call no id":    {func() nextstep.NextStep { return nextstep.ExecuteTools{Calls: []messages.ToolCall{{}}} }, delegation.CodeDefect, `whose id "" is empty`},
		"error nil":     {func() nextstep.NextStep { return nextstep.ReportError{} }, delegation.CodeDefect, "ReportError without an error"},
		"error panics":  {func() nextstep.NextStep { return nextstep.ReportError{Err: (*nilError)(nil)} }, delegation.CodePanic, "the Error method of its error failed: panicked: runtime error"},
		"data no JSON":  {func() nextstep.NextStep { return nextstep.Complete{Output: delegation.Output{Data: []byte("{")}} }, delegation.CodeInvalid, "the data of the output is not JSON"},
		"plain failure": {func() nextstep.NextStep { return nextstep.ReportError{Err: errors.New("no luck")} }, delegation.CodeFailed, "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, only(func() *scene {
				return &scene{Reply: func(llmclient.Response) nextstep.NextStep { return test.next() }}
			}))
			e.answer("1", said("so far"))
			require.True(t, e.m.Done())
			require.Equal(t, test.code, e.m.Output().Err.Code)
			require.ErrorContains(t, e.m.Output().Err, test.want)
			require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("so far")}, e.m.Output().Messages)
		})
	}
}

func TestMachine_badSetUp(t *testing.T) {
	for want, set := range map[string]strategy.Set{
		`Strategy: no strategy "x"; known: a, b`:             {"a": nil, "b": nil},
		`the factory of "x" is nil`:                          {"x": nil},
		`the factory of strategy "x" panicked with a string`: {"x": func() strategy.Strategy { panic("oops") }},
	} {
		m := machine.New(&machine.Config{Strategies: set})
		err := m.Apply(machine.Started{Strategy: "x"})
		require.ErrorContains(t, err, want)
		_, ok := errors.AsType[*machine.ConfigError](err)
		require.True(t, ok)
		require.Zero(t, m.Records())
	}
}

// A stop unwinds every frame, closes open calls, and keeps what there is.
func TestMachine_stop(t *testing.T) {
	build := func() *engine {
		e := begin(t, map[string]func() *scene{
			"main": func() *scene {
				return &scene{Reply: func(llmclient.Response) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "part"}}
				}}
			},
			"child": caller("a", "b"),
		}, offering("a", "b"), places(1))
		e.answer("1", said("let me delegate"))
		return e
	}
	check := func(e *engine) {
		require.True(t, e.m.Done())
		require.Equal(t, machine.StatusStopped, e.m.Status())
		require.Equal(t, delegation.CodeStopped, e.m.Output().Err.Code)
		require.ErrorContains(t, e.m.Output().Err, "enough")
		require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("let me delegate")}, e.m.Output().Messages)
		e.replays(through)
	}
	t.Run("while asking", func(t *testing.T) {
		e := build()
		e.stop(machine.Stopped{Now: true})
		require.Equal(t, []machine.EffectID{{Seq: 3}}, e.cut)
		require.False(t, e.m.Done(), "nothing ends over an effect that is open")
		e.answer("3", nextstep.Failure{Message: "cut", Partial: messages.AssistantText("par")})
		check(e)
	})
	t.Run("while tools run", func(t *testing.T) {
		e := build()
		e.answer("3", calling("a", "b"))
		e.stop(machine.Stopped{})
		require.Empty(t, e.cut)
		require.Equal(t, []string{"0.1 c2 failed not_started"}, e.finished())
		e.answer("4/1", result("c1", "A"))
		check(e)
		require.Equal(t, 1, e.m.Output().Counts.ToolCalls, "what was not started is given back")
	})
	t.Run("before what was released is begun", func(t *testing.T) {
		e := build()
		e.answer("3", calling("a", "b"))
		e.stop(machine.Stopped{})
		e.notBegun("4/1")
		check(e)
		require.Zero(t, e.m.Output().Counts.ToolCalls)
		require.Equal(t, []string{"0.1 c2 failed not_started", "0.1 c1 failed not_started"}, e.finished())
	})
}

// The frame that was stopped keeps what a model had said.
func TestMachine_stopKeepsPartial(t *testing.T) {
	e := begin(t, only(func() *scene { return &scene{} }))
	e.stop(machine.Stopped{Now: true})
	e.answer("1", nextstep.Failure{Message: "cut", Partial: messages.AssistantText("half an ans")})
	require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("half an ans")}, e.m.Output().Messages)
}

// A model that has answered before a stop is heard: a strategy that is done then is done.
func TestMachine_stopTakesTheLastStep(t *testing.T) {
	for _, now := range []bool{false, true} {
		e := begin(t, only(func() *scene { return &scene{} }))
		e.stop(machine.Stopped{Now: now})
		e.answer("1", said("the answer"))
		require.Equal(t, machine.StatusDone, e.m.Status())
		require.Equal(t, "the answer", e.m.Output().Text())
	}
}

// A conversation that a stop leaves with results at its end is closed by a note.
func TestMachine_stopNote(t *testing.T) {
	for note, want := range map[string]string{"": "[stopped]", "the end": "the end", "-": ""} {
		e := begin(t, only(caller("a", "b")), offering("a", "b"), places(1), func(c *machine.Config) { c.StopNote = note })
		e.answer("1", calling("a", "b"))
		e.stop(machine.Stopped{})
		e.answer("2/1", result("c1", "A"))
		last := e.m.Output().Messages.Last()
		if want == "" {
			require.IsType(t, messages.Tool{}, last)
			continue
		}
		require.Equal(t, messages.AssistantText(want), last)
	}
}

// last is a strategy that gives a last output, and hears of that of its child.
type last struct {
	strategy.Strategy
	out   delegation.Output
	heard *delegation.Output
}

func (l last) Conclude(string) delegation.Output { return l.out }
func (l last) Inherit(out delegation.Output)     { *l.heard = out }

// The last output of a frame is its strategy's, with what the strategy was not told of behind its
// messages. The error is that of the end: whatever the strategy says. A parent hears of its
// child's.
func TestMachine_lastOutputs(t *testing.T) {
	half := "half"
	var heard delegation.Output
	said1 := messages.History{messages.UserText("mine"), calling("a", "b").Response.Message}
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{Start: func(delegation.Input) nextstep.NextStep {
				return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "x"}}
			}}
		},
		"child": caller("a", "b"),
	}, offering("a", "b"), places(1), func(c *machine.Config) {
		for name, build := range c.Strategies {
			c.Strategies[name] = func() strategy.Strategy {
				return last{build(), delegation.Output{Result: &half, Messages: said1, Err: &delegation.Error{Code: "mine"}}, &heard}
			}
		}
	})
	e.answer("2", calling("a", "b"))
	e.stop(machine.Stopped{})
	e.answer("3/1", result("c1", "A"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Equal(t, "half", e.m.Output().Text())
	require.Equal(t, delegation.CodeStopped, heard.Err.Code)
	require.Equal(t, "half", heard.Text())
	require.Len(t, heard.ToolMetas(), 2)
	require.Equal(t, "A", heard.ToolMetas()[0].Output)
	require.Equal(t, machine.ReasonNotStarted, heard.ToolMetas()[1].Reason)
	e.replays(through)
}

// What a call of a model used that failed is used.
func TestMachine_usageOfFailures(t *testing.T) {
	e := begin(t, only(hungry()))
	e.answer("1", nextstep.Failure{Message: "no", Usage: messages.Usage{Input: 3}, Attempts: []llmclient.Attempt{{Usage: messages.Usage{Output: 2}}}})
	require.Equal(t, int64(5), e.m.Output().Usage.Total)
	require.Equal(t, 2, e.m.Output().Counts.ModelCalls)
}

// Whatever a caller writes into what it was handed, the machine does not see.
func TestMachine_scribble(t *testing.T) {
	h := append(make(messages.History, 0, 8), messages.UserText("go"))
	request := func() nextstep.NextStep { return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: h}} }
	e := begin(t, only(func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return request() },
			Reply: func(r llmclient.Response) nextstep.NextStep { h = append(h, r.Message); return request() },
		}
	}))
	first := e.effect("1").Step.(nextstep.GetChatCompletion).Request.Messages
	e.answer("1", said("x"))
	_ = append(first, messages.UserText("scribble"))
	require.Equal(t, messages.AssistantText("x"), e.effect("2").Step.(nextstep.GetChatCompletion).Request.Messages[1])
	require.Equal(t, messages.AssistantText("x"), e.m.Output().Messages[1])
}

// Every call is told to have finished, started or not, before its step is told to be taken.
func TestMachine_toolFinishedForEachCall(t *testing.T) {
	order := func(e *engine) []machine.EventKind {
		var list []machine.EventKind
		for _, out := range e.seen[1:] {
			for _, ev := range out.events {
				if ev.Kind == machine.EventToolFinished || ev.Kind == machine.EventStepTaken {
					list = append(list, ev.Kind)
				}
			}
		}
		return list
	}
	e := begin(t, only(caller("a")), offering("a"))
	e.answer("1", calling("a", "b"))
	e.answer("2/1", result("c1", ""))
	require.Equal(t, []machine.EventKind{machine.EventStepTaken, machine.EventToolFinished, machine.EventToolFinished, machine.EventStepTaken}, order(e))

	e = begin(t, only(caller("a")), offering("a"), limited(delegation.Limits{ToolCalls: 1}))
	e.answer("1", calling("a", "a"))
	require.Equal(t, []machine.EventKind{machine.EventStepTaken, machine.EventToolFinished, machine.EventToolFinished, machine.EventStepTaken}, order(e))

	e = begin(t, only(caller("a")), offering("a"), limited(delegation.Limits{Steps: 1}))
	e.answer("1", calling("a", "a"))
	require.Equal(t, machine.StatusLimit, e.m.Status())
	require.Equal(t, []machine.EventKind{machine.EventStepTaken, machine.EventToolFinished, machine.EventToolFinished}, order(e))
}
