package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// looper asks a model with a tool on offer, calls what the reply calls, and asks again, for ever.
func looper() *scene {
	return &scene{
		Start: func(in delegation.Input) nextstep.NextStep { return ask(in.Goal, "r") },
		Reply: func(r llmclient.Response) nextstep.NextStep {
			if len(r.Message.Calls()) == 0 {
				return ask("more", "r")
			}
			return nextstep.ExecuteTools{Calls: r.Message.Calls()}
		},
		Results: func([]messages.ToolOutput) nextstep.NextStep { return ask("more", "r") },
	}
}

// crowd begins a run whose model opens 80 branches at once, which go on for ever.
func crowd(t tester, limits, own delegation.Limits, n int) *engine {
	e := begin(t, map[string]func() *scene{"main": hungry("fan"), "loop": looper},
		offering("r"), agent("fan", "loop", fanOut(80), func(a *machine.Agent) { a.Limits = own }), limited(limits), places(n))
	e.answer("1", calling("fan"))
	return e
}

// Limits are shared by everything that works at the same time, and are reached but never passed: by
// nothing that is open, whatever ends first.
func TestLimits_exactUnderConcurrency(t *testing.T) {
	for name, test := range map[string]struct {
		limits delegation.Limits
		used   func(delegation.Output) int
		most   int
	}{
		"steps":       {delegation.Limits{Steps: 187}, func(o delegation.Output) int { return o.Counts.Steps }, 187},
		"model_calls": {delegation.Limits{ModelCalls: 133}, func(o delegation.Output) int { return o.Counts.ModelCalls }, 133},
		"tool_calls":  {delegation.Limits{ToolCalls: 121}, func(o delegation.Output) int { return o.Counts.ToolCalls }, 121},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 7, -1} {
				e := crowd(t, test.limits, delegation.Limits{}, n)
				for i := 0; !e.m.Done(); i++ {
					x := e.open[(i*7919)%len(e.open)]
					if x.Kind == machine.EffectTool {
						e.answer(x.ID.String(), result("c1", ""))
					} else {
						e.answer(x.ID.String(), calling("r"))
					}
				}
				limitOf(t, e.m.Output().Err, name)
				require.LessOrEqual(t, test.used(e.m.Output()), test.most)
				if name == "steps" || n < 0 && name == "model_calls" { // a place that is waited for is given back
					require.Positive(t, test.used(e.m.Output()))
				}
				e.summed()
			}
		})
	}
}

// summed holds that the counts of the run are the sum of what was answered.
func (e *engine) summed() {
	e.t.Helper()
	counts := delegation.Counts{}
	for _, r := range e.records {
		if r, ok := r.(machine.Answered); ok && !r.NotBegun {
			switch r.Kind {
			case machine.EffectModel:
				counts.ModelCalls++
			case machine.EffectTool:
				counts.ToolCalls++
			default:
			}
		}
	}
	require.Equal(e.t, counts.ModelCalls, e.m.Output().Counts.ModelCalls)
	require.Equal(e.t, counts.ToolCalls+len(e.nested()), e.m.Output().Counts.ToolCalls)
}

// The limits of an agent are those of each of its branches, within what is left of the run's. What
// one branch leaves its siblings can use.
func TestLimits_ofBranches(t *testing.T) {
	e := crowd(t, delegation.Limits{ModelCalls: 140}, delegation.Limits{ModelCalls: 2}, -1)
	for !e.m.Done() {
		x := e.open[0]
		if x.Kind == machine.EffectTool {
			e.answer(x.ID.String(), result("c1", ""))
			continue
		}
		e.answer(x.ID.String(), calling("r"))
	}
	require.Equal(t, 140, e.m.Output().Counts.ModelCalls)
	require.Equal(t, machine.StatusLimit, e.m.Status())
	perBranch := map[string]int{}
	for _, r := range e.records {
		if r, ok := r.(machine.Answered); ok && r.Kind == machine.EffectModel {
			perBranch[r.Frame]++
		}
	}
	for frame, n := range perBranch {
		require.LessOrEqual(t, n, 2, frame)
	}

	e = crowd(t, delegation.Limits{ModelCalls: 1000}, delegation.Limits{ModelCalls: 2}, 3)
	for !e.m.Done() {
		x := e.open[0]
		if x.Kind == machine.EffectTool {
			e.answer(x.ID.String(), result("c1", ""))
			continue
		}
		e.answer(x.ID.String(), calling("r"))
	}
	require.Equal(t, 161, e.m.Output().Counts.ModelCalls)
	require.Equal(t, machine.StatusDone, e.m.Status(), "a limit of a branch is a failed call for its caller")
	require.Contains(t, e.m.Output().Text(), "frame 0.80: the limit of 2 model_calls is reached")
}

// No call of a model starts once the tokens are used. What is used beyond the limit is at most what
// the calls use that were open then.
func TestLimits_tokensUnderConcurrency(t *testing.T) {
	for _, n := range []int{1, 5} {
		e := crowd(t, delegation.Limits{TotalTokens: 95}, delegation.Limits{}, n)
		for !e.m.Done() {
			e.answer(e.ids()[0], said("x"))
			if total(e) >= 95 {
				require.Empty(t, e.seen[len(e.seen)-1].effects)
			}
		}
		require.Equal(t, machine.StatusLimit, e.m.Status())
		require.LessOrEqual(t, e.m.Output().Usage.Total, int64(95+11*n))
		require.Equal(t, e.m.Output().Usage.Total, total(e))
		e.summed()
	}
}

// Nothing that takes tokens is released once they are used, a remote as little as a model: those
// that waited for a place are given back.
func TestLimits_tokensOfWhatIsQueued(t *testing.T) {
	for _, name := range []string{"far away", "part"} {
		e := begin(t, map[string]func() *scene{
			"main": hungry("work"), "part": func() *scene { return &scene{} },
			"far away": func() *scene {
				return &scene{
					Start: far(delegation.Limits{Steps: 2, ModelCalls: 2, ToolCalls: 2})().Start,
					Child: func(delegation.Output) nextstep.NextStep { return done("") },
				}
			},
		}, remote, agent("work", name), limited(delegation.Limits{TotalTokens: 40}), places(1))
		e.answer("1", calling("work", "work"))
		used := messages.Usage{Total: 40}
		if name == "part" {
			e.answer("3", nextstep.APIResponse{Response: &llmclient.Response{Usage: used}})
		} else {
			e.answer("3", nextstep.DelegationResult{Output: delegation.Output{Counts: delegation.Counts{Steps: 1, ModelCalls: 1}, Usage: used}})
		}
		limitOf(t, e.m.Output().Err, "total_tokens")
		require.Equal(t, 2, e.m.Output().Counts.ModelCalls)
	}
}

// total adds up what was answered.
func total(e *engine) (sum int64) {
	for _, r := range e.records {
		if r, ok := r.(machine.Answered); ok {
			if a, ok := r.Answer.(nextstep.APIResponse); ok {
				sum += a.Response.Usage.Input + a.Response.Usage.Output
			}
		}
	}
	return sum
}

// nested returns the calls that opened branches.
func (e *engine) nested() map[string]bool {
	all := map[string]bool{}
	for _, ev := range e.events(machine.EventToolStarted) {
		if c := ev.Detail.(machine.ToolStarted).Call; strings.HasPrefix(c.Name, "agent") || strings.HasPrefix(c.Name, "fan") {
			all[fmt.Sprintf("%s %d %s", ev.Frame, ev.Seq, c.ID)] = true
		}
	}
	return all
}

// far delegates to another service, again and again.
func far(limits delegation.Limits) func() *scene {
	return func() *scene {
		again := func() nextstep.NextStep {
			return nextstep.Delegate{Strategy: "far", Tools: []string{"safe", "danger"}, Limits: limits}
		}
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return again() },
			Child: func(delegation.Output) nextstep.NextStep { return again() },
		}
	}
}

func remote(c *machine.Config) { c.Remote = []string{"far"} }

// A remote child is confined as one of our own is: by the tools and limits of the frames above it.
func TestMachine_remoteIsConfined(t *testing.T) {
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{Start: func(delegation.Input) nextstep.NextStep {
				return nextstep.Delegate{Strategy: "child", Tools: []string{"safe"}, Limits: delegation.Limits{Steps: 5}}
			}}
		},
		"child": far(delegation.Limits{ModelCalls: 7}),
	}, offering("safe", "danger"), remote, limited(delegation.Limits{ModelCalls: 100, ToolCalls: 9, TotalTokens: 50}))
	step := e.effect("2").Step.(nextstep.Delegate)
	require.Equal(t, []string{"safe"}, step.Tools)
	require.Equal(t, 4, step.Limits.Steps)
	require.Equal(t, 7, step.Limits.ModelCalls)
	require.Equal(t, 9, step.Limits.ToolCalls)
	require.Equal(t, int64(50), step.Limits.TotalTokens)
}

// What a remote is handed is reserved until it answers. One that says what it has used gives back
// the rest, and one that says nothing has used it all.
func TestLimits_remotesReserve(t *testing.T) {
	out := func(c delegation.Counts) nextstep.Answer {
		return nextstep.DelegationResult{Output: delegation.Output{Counts: c}}
	}
	handed := func(e *engine) delegation.Limits {
		return e.open[len(e.open)-1].Step.(nextstep.Delegate).Limits
	}
	small := delegation.Limits{Steps: 5, ModelCalls: 3, ToolCalls: 2}
	e := begin(t, only(far(small)), remote, limited(delegation.Limits{Steps: 20, ModelCalls: 7, ToolCalls: 100}))
	e.answer("1", out(delegation.Counts{Steps: 2, ModelCalls: 1}))
	require.Equal(t, delegation.Limits{Depth: 15, Steps: 5, ModelCalls: 3, ToolCalls: 2, InputTokens: -1, OutputTokens: -1, TotalTokens: -1, Cost: -1, Duration: -1, Handoffs: 16}, handed(e))
	e.answer("2", out(delegation.Counts{})) // 4 model calls of 7 are used now, and 9 steps of 20
	require.Equal(t, 3, handed(e).ModelCalls)
	e.answer("3", nextstep.Failure{Message: "nobody is there"})
	require.Equal(t, machine.StatusFailed, e.m.Status())
	require.Equal(t, delegation.Counts{Steps: 3 + 2 + 5, ModelCalls: 4, ToolCalls: 2, Handoffs: 16}, e.m.Output().Counts)

	// two at a time: the second is handed what the first has not
	e = begin(t, map[string]func() *scene{"main": hungry("work"), "far away": far(delegation.Limits{Steps: 5, ModelCalls: 6, ToolCalls: 5})}, remote, agent("work", "far away"), limited(delegation.Limits{ModelCalls: 10}))
	e.answer("1", calling("work", "work"))
	require.Equal(t, 6, e.effect("3").Step.(nextstep.Delegate).Limits.ModelCalls)
	require.Equal(t, 3, e.effect("4").Step.(nextstep.Delegate).Limits.ModelCalls)
	e.answer("3", out(delegation.Counts{ModelCalls: 1, Steps: 1}))
	require.Equal(t, 5, handed(e).ModelCalls, "10, less one of the root, one that was used, and three that are held")
	e.answer("4", out(delegation.Counts{}))
	require.Equal(t, []string{"5"}, e.ids(), "nothing is left: the run ends, once the other has answered")
	e.answer("5", out(delegation.Counts{Steps: 1}))
	limitOf(t, e.m.Output().Err, "model_calls")
	require.Equal(t, 1+1+3, e.m.Output().Counts.ModelCalls)
}
