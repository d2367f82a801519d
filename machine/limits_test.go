package machine_test

import (
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// S0-17: endless delegation ends at the depth limit, each level hears of it, and the trace shows
// every level.
func TestS0_17_depth(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "main"} },
			Child: func(o delegation.Output) nextstep.NextStep { return nextstep.ReportError{Err: o.Err} },
		}
	}), limited(delegation.Limits{Depth: 5}))
	require.True(t, e.m.Done())
	require.Equal(t, machine.StatusLimit, e.m.Status())
	limit, ok := errors.AsType[*machine.LimitError](e.m.Output().Err)
	require.True(t, ok)
	require.Equal(t, "depth", limit.Limit)
	var entered []string
	for _, ev := range e.events(machine.EventFrameEntered) {
		entered = append(entered, ev.Frame)
	}
	require.Equal(t, []string{"0", "0.1", "0.1.1", "0.1.1.1", "0.1.1.1.1", "0.1.1.1.1.1"}, entered)
	require.Len(t, e.events(machine.EventFrameLeft), 6)
}

// limitOf returns the limit that an output ended at.
func limitOf(t *testing.T, err error, want string) *machine.LimitError {
	t.Helper()
	limit, ok := errors.AsType[*machine.LimitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, limit.Limit)
	return limit
}

func TestS0_18_steps(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}
	}), limited(delegation.Limits{Steps: 3}))
	for !e.m.Done() {
		e.answer(e.ids()[0], said("hm"))
	}
	require.Equal(t, 3, e.m.Seq())
	require.Equal(t, machine.LimitError{Run: "r", Frame: "0", Limit: "steps", Max: 3}, *limitOf(t, e.m.Output().Err, "steps"))
	require.Equal(t, messages.History{messages.UserText("again"), messages.AssistantText("hm")}, e.m.Output().Messages)
	require.Equal(t, int64(33), e.m.Output().Usage.Total)
}

// Each limit of the run ends it with an error that names it, and is reached but never passed. A
// strategy that calls tools after it was told of their limit has one more model call.
func TestMachine_limits(t *testing.T) {
	for _, test := range []struct {
		limits delegation.Limits
		want   string
		models int
		tools  int
	}{
		{delegation.Limits{ModelCalls: 2}, "model_calls", 2, 4},
		{delegation.Limits{ToolCalls: 3}, "tool_calls", 3, 2},
		{delegation.Limits{InputTokens: 15}, "input_tokens", 2, 4},
		{delegation.Limits{OutputTokens: 3}, "output_tokens", 3, 6},
		{delegation.Limits{TotalTokens: 22}, "total_tokens", 2, 4},
		{delegation.Limits{ModelCalls: -1, Steps: 7}, "steps", 4, 6},
	} {
		t.Run(test.want, func(t *testing.T) {
			models, calls := 0, 0
			e := begin(t, only(func() *scene {
				return &scene{
					Start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
					Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
					Results: func([]messages.ToolOutput) nextstep.NextStep { return ask("y", "a", "b") },
				}
			}), offering("a", "b"), limited(test.limits))
			for !e.m.Done() {
				x := e.open[0]
				if x.Kind == machine.EffectTool {
					calls++
					e.answer(x.ID.String(), result(x.Call.ID, strconv.Itoa(calls)))
					continue
				}
				models++
				a := calling("a", "b")
				a.Response.Usage = messages.Usage{Input: 10, Output: 1}
				e.answer(x.ID.String(), a)
			}
			limitOf(t, e.m.Output().Err, test.want)
			require.Equal(t, machine.StatusLimit, e.m.Status())
			require.Equal(t, test.models, models)
			require.Equal(t, test.tools, calls)
			require.NoError(t, e.m.Output().Messages.Validate(), "calls that were not started are answered")
			require.Equal(t, models, e.m.Output().Counts.ModelCalls)
			require.Equal(t, calls, e.m.Output().Counts.ToolCalls)
			e.replays(through)
		})
	}
}

// Attempts that a wrapper hid count as model calls, and their tokens as used.
func TestMachine_countsAttempts(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}
	}), limited(delegation.Limits{ModelCalls: 3}))
	a := said("x")
	a.Response.Attempts = []llmclient.Attempt{{Usage: messages.Usage{Input: 5}}, {}}
	e.answer("1", a)
	require.True(t, e.m.Done())
	require.Equal(t, int64(16), e.m.Output().Usage.Total)
	require.Equal(t, 3, e.m.Output().Counts.ModelCalls)
}

// A child's own limits end the child, not the run.
func TestMachine_childLimits(t *testing.T) {
	var heard delegation.Output
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Limits: delegation.Limits{ModelCalls: 1}}
				},
				Child: func(o delegation.Output) nextstep.NextStep { heard = o; return done("went on") },
			}
		},
		"child": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return ask("1") },
				Reply: func(llmclient.Response) nextstep.NextStep { return nextstep.Delegate{Strategy: "grandchild"} },
			}
		},
		"grandchild": func() *scene { return &scene{Start: func(delegation.Input) nextstep.NextStep { return ask("2") }} },
	})
	e.answer("2", said("x"))
	require.Equal(t, machine.StatusDone, e.m.Status())
	require.Equal(t, "went on", e.m.Output().Text())
	require.Equal(t, "0.1", limitOf(t, heard.Err, "model_calls").Frame)
}

// A frame may only execute tools that it offered and that its parent allowed.
func TestMachine_allowList(t *testing.T) {
	var heard []messages.ToolOutput
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Tools: []string{"a", "nonsense"}}
				},
				Child: func(delegation.Output) nextstep.NextStep { return done("") },
			}
		},
		"child": func() *scene {
			return &scene{
				Start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
				Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
				Results: func(r []messages.ToolOutput) nextstep.NextStep { heard = r; return done("") },
			}
		},
	}, offering("a", "b", "c"))
	e.answer("2", calling("b", "a", "c"))
	require.Equal(t, []string{"3/2"}, e.ids())
	require.Equal(t, messages.ToolCall{ID: "c2", Name: "a", Arguments: "{}"}, e.effect("3/2").Call)
	e.answer("3/2", result("c2", "ok"))
	require.Len(t, heard, 3)
	require.Equal(t, `there is no tool "b" here; the tools are: a`, heard[0].Output)
	require.Equal(t, messages.StatusFailed, heard[0].Status)
	require.Equal(t, machine.ReasonNotOffered, heard[0].Reason)
	require.Equal(t, "ok", heard[1].Output)
	require.Equal(t, "c3", heard[2].CallID)
	require.Equal(t, 1, e.m.Output().Counts.ToolCalls, "a call that may not be made counts for nothing")
}

// So may an agent, and no more.
func TestMachine_allowListOfAgents(t *testing.T) {
	e := begin(t, map[string]func() *scene{"main": hungry("work"), "part": caller("a", "b", "c")}, offering("a", "b"),
		agent("work", "part", func(a *machine.Agent) { a.Tools = []string{"b", "c"} }))
	e.answer("1", calling("work"))
	e.answer("3", calling("a", "b", "c"))
	require.Equal(t, []string{"4/2"}, e.ids())
}

// A child is told what it was handed of its parent's conversation.
func TestMachine_shares(t *testing.T) {
	for want, handed := range map[machine.Share]messages.History{
		machine.ShareGoal: nil, machine.ShareChosen: {messages.UserText("a")}, machine.ShareAll: {messages.UserText("a"), messages.AssistantText("b")},
	} {
		e := begin(t, map[string]func() *scene{
			"main": func() *scene {
				return &scene{Reply: func(llmclient.Response) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "x", Messages: handed}}
				}}
			},
			"child": func() *scene { return &scene{} },
		})
		e.answer("1", said("b"))
		entered := e.events(machine.EventFrameEntered)
		require.Empty(t, entered[0].Detail.(machine.FrameEntered).Context)
		child := entered[1].Detail.(machine.FrameEntered)
		child.Limits = delegation.Limits{}
		require.Equal(t, machine.FrameEntered{Strategy: "child", Goal: "x", Messages: len(handed), Context: want}, child)
	}
}

// A batch of calls that are all refused is answered without the outside.
func TestMachine_allRefused(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{
			Reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			Results: func(r []messages.ToolOutput) nextstep.NextStep { return done(r[0].Output) },
		}
	}), offering("a"))
	e.answer("1", calling("a"))
	require.Equal(t, `there is no tool "a" here; no tools can be called`, e.m.Output().Text())
	require.Len(t, e.events(machine.EventToolFinished), 1)
}

// What a delegation costs does not depend on how long the conversation of the parent is.
func TestDelegationCostIsFlat(t *testing.T) {
	const delegations = 200
	cost := func(length int) uint64 {
		var history messages.History
		for range length {
			history = append(history, messages.UserText("said before"))
		}
		heard := 0
		cfg := config(map[string]func() *scene{
			"main": func() *scene {
				hand := func() nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "part"}}
				}
				return &scene{
					Start: func(delegation.Input) nextstep.NextStep {
						return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: history}}
					},
					Reply: func(llmclient.Response) nextstep.NextStep { return hand() },
					Child: func(delegation.Output) nextstep.NextStep {
						if heard++; heard == delegations {
							return done("")
						}
						return hand()
					},
				}
			},
			"child": func() *scene { return &scene{} },
		})
		m := machine.New(cfg)
		require.NoError(t, m.Apply(machine.Started{Strategy: "main"}))
		step := func(text string) {
			x := m.Ready().Effects[0]
			m.Advance()
			require.NoError(t, m.Apply(x.Answered(said(text), began, 0)))
		}
		step("let me delegate")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range delegations - 1 { // the last one ends the run, which hands over the whole conversation
			step("done")
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / (delegations - 1)
	}
	cost(10) // whatever is made once
	short, long := cost(10), cost(10_000)
	t.Logf("a delegation allocates %d bytes behind 10 messages, %d behind 10,000", short, long)
	require.InEpsilon(t, short, long, 0.1)
}
