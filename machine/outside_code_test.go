package machine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// editor is a scene that hears of calls as they were made.
type editor struct {
	strategy.Strategy
	hear func([]messages.ToolCall)
}

func (e editor) EditCalls(calls []messages.ToolCall) { e.hear(calls) }

// editing has the calls of a strategy heard.
func editing(build func() strategy.Strategy, heard *[]messages.ToolCall) func() strategy.Strategy {
	return func() strategy.Strategy {
		return editor{build(), func(c []messages.ToolCall) { *heard = c }}
	}
}

// odd is a tool of a strategy whose method Agent panics.
type odd struct{ tools.Tool }

func (odd) Agent() *machine.Agent { panic("odd") }

// bringing is a strategy with tools of its own.
type bringing struct {
	strategy.Strategy
	tools []tools.Tool
}

func (b bringing) Tools() []tools.Tool { return b.tools }

// badConclusion is a strategy that cannot end.
type badConclusion struct{ strategy.Strategy }

func (badConclusion) Conclude(string) delegation.Output { panic("never") }
func (badConclusion) Inherit(delegation.Output)         { panic("nothing") }

// Code of strangers that runs inside of Apply cannot bring a Machine down: the policy, the inputs
// of agents, the tools of strategies, what hears of panics, and every method of a strategy.
func TestForeignPanics(t *testing.T) {
	reports := 0
	hears := func(c *machine.Config) {
		c.OnPanic = func(machine.PanicReport) { reports++; panic("at that, too") }
	}
	t.Run("policy", func(t *testing.T) {
		e := begin(t, only(caller("r")), offering("r"), hears, judged(func(machine.ApprovalRequest) machine.Verdict { panic("no idea") }))
		e.answer("1", calling("r"))
		require.Equal(t, machine.WaitApproval, e.effect("2/1/1").Wait.Kind, "a person is asked")
	})
	t.Run("a policy that says nonsense", func(t *testing.T) {
		e := begin(t, only(caller("r")), offering("r"), judged(func(machine.ApprovalRequest) machine.Verdict { return 9 }))
		e.answer("1", calling("r"))
		require.Equal(t, []string{"2/1 ask"}, e.intents())
	})
	t.Run("a tool of a strategy", func(t *testing.T) {
		plain := tools.NewRaw(tools.Definition{Name: "own"}, func(context.Context, string) (string, error) { return "", nil })
		m := machine.New(&machine.Config{Strategies: strategy.Set{"main": func() strategy.Strategy {
			return bringing{&scene{}, []tools.Tool{odd{plain}}}
		}}})
		require.ErrorContains(t, m.Apply(machine.Started{}), "panicked with a string")
	})
	t.Run("the last words", func(t *testing.T) {
		before := reports
		e := begin(t, map[string]func() *scene{
			"main": func() *scene {
				return &scene{Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} }}
			},
			"child": func() *scene { return &scene{Start: func(delegation.Input) nextstep.NextStep { return ask("x") }} },
		}, hears, func(c *machine.Config) {
			for name, build := range c.Strategies {
				c.Strategies[name] = func() strategy.Strategy { return badConclusion{build()} }
			}
		})
		e.stop(machine.Stopped{Now: true})
		e.answer("2", nextstep.Failure{})
		require.Equal(t, machine.StatusStopped, e.m.Status())
		require.Equal(t, before+2, reports)
	})
	t.Run("the calls as they were made", func(t *testing.T) {
		e := begin(t, only(caller("r")), offering("r"), func(c *machine.Config) {
			build := c.Strategies["main"]
			c.Strategies["main"] = func() strategy.Strategy {
				return editor{build(), func([]messages.ToolCall) { panic("no") }}
			}
		})
		e.answer("1", calling("r"))
		e.answer("2/1", nextstep.ToolResult{Output: messages.ToolOutput{CallID: "c1"}, Call: &messages.ToolCall{ID: "c1", Name: "r", Arguments: "other"}})
		require.Equal(t, delegation.CodePanic, e.m.Output().Err.Code)
	})
}

// What the inputs of an agent do is the result of its call.
func TestForeignPanics_ofInputs(t *testing.T) {
	hears := func(c *machine.Config) { c.OnPanic = func(machine.PanicReport) { panic("at that, too") } }
	several := func(string) ([]delegation.Input, bool, error) { return make([]delegation.Input, 3), true, nil }
	for name, test := range map[string]struct {
		inputs func(string) ([]delegation.Input, bool, error)
		want   string
		reason string
	}{
		"panic":     {func(string) ([]delegation.Input, bool, error) { panic("oops") }, "machine: the agent work panicked with a string", tools.ReasonPanic},
		"its error": {func(string) ([]delegation.Input, bool, error) { return nil, false, (*nilError)(nil) }, "machine: the agent work panicked: runtime error", tools.ReasonPanic},
		"error":     {func(string) ([]delegation.Input, bool, error) { return nil, false, errors.New("no") }, "no", tools.ReasonError},
		"arguments": {func(string) ([]delegation.Input, bool, error) { return nil, false, &tools.ArgumentError{Tool: "work"} }, "work", tools.ReasonArguments},
		"none":      {func(string) ([]delegation.Input, bool, error) { return nil, true, nil }, "machine: the agent work was given no input", tools.ReasonError},
		"too many":  {several, "machine: the agent work was given 3 inputs, more than 2", tools.ReasonError},
	} {
		t.Run("inputs: "+name, func(t *testing.T) {
			e := begin(t, only(caller("work", "r")), offering("r"), hears, agent("work", "main", func(a *machine.Agent) { a.Inputs, a.Branches = test.inputs, 2 }))
			e.answer("1", calling("work", "r"))
			require.Equal(t, []string{"0 c1 failed " + test.reason}, e.finished())
			e.answer("2/2", result("c2", "R"))
			require.Contains(t, e.m.Output().Text(), test.want)
			e.replays(through)
		})
	}
}

// A tool that a strategy brought is offered by that alone, and may be an agent.
func TestMachine_ownTools(t *testing.T) {
	plain := tools.NewRaw(tools.Definition{Name: "own", ReadOnly: true}, func(context.Context, string) (string, error) { return "", nil })
	e := begin(t, only(caller()), func(c *machine.Config) {
		build := c.Strategies["main"]
		c.Strategies["main"] = func() strategy.Strategy { return bringing{build(), []tools.Tool{plain}} }
	})
	e.answer("1", calling("own", "other"))
	require.NotNil(t, e.effect("2/1").Tool)
	require.Equal(t, "own", e.effect("2/1").Definition.Name)
	e.answer("2/1", result("c1", "mine"))
	require.Contains(t, e.m.Output().Text(), "mine|there is no tool")
}
