package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// making makes calls of its own, with the names of the tools as ids.
func making(names ...string) nextstep.NextStep {
	var step nextstep.ExecuteTools
	for _, n := range names {
		step.Calls = append(step.Calls, messages.ToolCall{ID: "my " + n, Name: n, Arguments: "{}"})
	}
	return step
}

// repeating makes the calls of a reply.
func repeating(r llmclient.Response) nextstep.NextStep {
	return nextstep.ExecuteTools{Calls: r.Message.Calls()}
}

// texted is done with its results.
func texted(r []messages.ToolOutput) nextstep.NextStep { return done(texts(r)) }

// A strategy calls the tools that its frame may use, whether or not a request offered them: before
// its first request, and beside a request for fewer.
func TestMachine_ownCalls(t *testing.T) {
	for name, s := range map[string]*scene{
		"before a request":  {Start: func(delegation.Input) nextstep.NextStep { return making("look", "pay") }},
		"after a reply":     {Reply: func(llmclient.Response) nextstep.NextStep { return making("look", "pay") }},
		"after other tools": {Start: func(delegation.Input) nextstep.NextStep { return ask("x", "other") }, Reply: func(llmclient.Response) nextstep.NextStep { return making("look", "pay") }},
		"after a delegation": {
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} },
			Child: func(delegation.Output) nextstep.NextStep { return making("look", "pay") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.Results = texted
			e := begin(t, map[string]func() *scene{"main": func() *scene { return s }, "child": func() *scene { return &scene{} }}, offering("look", "pay", "other"))
			if e.open[0].Kind == machine.EffectModel {
				e.answer(e.ids()[0], calling("look")) // which the strategy does not make
			}
			require.Len(t, e.open, 2)
			e.answer(e.ids()[0], result("my look", "seen"))
			e.answer(e.ids()[0], result("my pay", "paid"))
			require.Equal(t, "seen|paid", e.m.Output().Text())
			require.Equal(t, 2, e.m.Output().Counts.ToolCalls)
		})
	}
}

// Approvals hold for a strategy's own calls, too.
func TestMachine_ownCallsAreJudged(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{Start: func(delegation.Input) nextstep.NextStep { return making("look", "pay") }, Results: texted}
	}), offering("look", "pay"), func(c *machine.Config) { c.Tools[1].NeedsApproval = true })
	require.Equal(t, machine.WaitApproval, e.effect("1/2/1").Wait.Kind)
}

// Calls of a reply stay limited to what its request offered, whatever else the strategy may call:
// those of a request aside, of a reply before that, and of a reply that was cut off, too.
func TestMachine_callsOfReplies(t *testing.T) {
	asideOf := func(step nextstep.NextStep) nextstep.NextStep {
		s := step.(nextstep.GetChatCompletion)
		s.Aside = true
		return s
	}
	var first llmclient.Response
	for name, c := range map[string]struct {
		scene   scene
		answers []nextstep.Answer
	}{
		"a reply": {scene{Start: func(delegation.Input) nextstep.NextStep { return ask("x", "other") }, Reply: repeating}, []nextstep.Answer{calling("pay")}},
		"a request aside": {scene{
			Start: func(delegation.Input) nextstep.NextStep { return asideOf(ask("x", "pay")) }, Reply: repeating,
		}, []nextstep.Answer{calling("pay")}},
		"a reply before a request aside": {scene{
			Start: func(delegation.Input) nextstep.NextStep { return ask("x", "other") },
			Reply: func(r llmclient.Response) nextstep.NextStep {
				if len(r.Message.Calls()) > 0 {
					first = r
					return asideOf(ask("y"))
				}
				return repeating(first)
			},
		}, []nextstep.Answer{calling("pay"), said("nothing")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.scene
			s.Results = texted
			e := begin(t, only(func() *scene { return &s }), offering("pay", "other"))
			for _, a := range c.answers {
				e.answer(e.ids()[0], a)
			}
			require.Contains(t, e.finished(), "0 c1 failed not_offered")
			require.Contains(t, e.m.Output().Text(), `there is no tool "pay" here; `)
			require.Zero(t, e.m.Output().Counts.ToolCalls)
		})
	}
}

// salvager makes the calls of replies that were cut off.
type salvager struct{ *scene }

func (salvager) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	return nextstep.ExecuteTools{Calls: f.Partial.Calls()}
}

// A reply that was cut off is a reply.
func TestMachine_callsOfPartialReplies(t *testing.T) {
	for _, aside := range []bool{false, true} {
		cfg := config(nil, offering("pay", "other"))
		cfg.Strategies["main"] = func() strategy.Strategy {
			return salvager{&scene{Start: func(delegation.Input) nextstep.NextStep {
				step := ask("x", "other").(nextstep.GetChatCompletion)
				step.Aside = aside
				return step
			}, Results: texted}}
		}
		e := drive(t, cfg, machine.Started{Strategy: "main", Input: delegation.Input{Goal: "go"}})
		e.answer("1", nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.CodeFailed, Message: "down", Partial: calling("pay").Response.Message})
		require.Contains(t, e.finished(), "0 c1 failed not_offered")
	}
}

// A tool that the frame may not use is refused, with what to do.
func TestMachine_ownCallsNotAllowed(t *testing.T) {
	for _, name := range []string{"pay", "nonsense"} {
		e := begin(t, map[string]func() *scene{
			"main": func() *scene {
				return &scene{
					Start: func(delegation.Input) nextstep.NextStep {
						return nextstep.Delegate{Strategy: "child", Tools: []string{"look"}}
					},
					Child: func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
				}
			},
			"child": func() *scene {
				return &scene{Start: func(delegation.Input) nextstep.NextStep { return making(name) }, Results: texted}
			},
		}, offering("look", "pay"))
		require.Equal(t, `the strategy may not call the tool "`+name+`": give it to the run and to the delegation, or bring it as a strategy.ToolProvider`, e.m.Output().Text())
		require.Equal(t, []string{"0.1 my " + name + " failed not_offered"}, e.finished())
	}
}

// A run that is folded or restored while the strategy's own calls are open goes on with them.
func TestMachine_ownCallsComeBack(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{Start: func(delegation.Input) nextstep.NextStep { return making("look", "nonsense") }, Results: texted}
	}), offering("look"))
	e.crash(0)
	e.resume(machine.Resumed{})
	require.Equal(t, []string{"1/1"}, e.ids())
	e.answer("1/1", result("my look", "seen"))
	require.Contains(t, e.m.Output().Text(), "seen|the strategy may not call")
}
