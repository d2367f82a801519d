package orchestrator_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// S0-17: endless delegation ends at the depth limit, each level hears of it, and the trace shows
// every level.
func TestS0_17_depth(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{
			start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "main"} },
			child: func(o delegation.Output) nextstep.NextStep { return nextstep.ReportError{Err: o.Err} },
		}
	}), func(c *orchestrator.MachineConfig) { c.Limits.Depth = 5 })
	require.True(t, m.Done())
	require.Equal(t, orchestrator.StatusLimit, m.Status())
	limit, ok := errors.AsType[*orchestrator.LimitError](m.Output().Err)
	require.True(t, ok)
	require.Equal(t, "depth", limit.Limit)
	var entered, left []string
	for _, e := range m.Events() {
		switch e.Kind {
		case orchestrator.EventFrameEntered:
			entered = append(entered, e.Frame)
		case orchestrator.EventFrameLeft:
			left = append(left, e.Frame)
		default:
		}
	}
	require.Equal(t, []string{"0", "0.1", "0.1.1", "0.1.1.1", "0.1.1.1.1", "0.1.1.1.1.1"}, entered)
	require.Len(t, left, 6)
}

// A strategy that delegates again whatever its children come to is ended by the limit on steps.
func TestS0_17_delegatesForEver(t *testing.T) {
	again := func() nextstep.NextStep { return nextstep.Delegate{Strategy: "main"} }
	m := machine(t, only(func() *scene {
		return &scene{
			start: func(delegation.Input) nextstep.NextStep { return again() },
			child: func(delegation.Output) nextstep.NextStep { return again() },
		}
	}))
	require.True(t, m.Done())
	limit, ok := errors.AsType[*orchestrator.LimitError](m.Output().Err)
	require.True(t, ok)
	require.Equal(t, "steps", limit.Limit)
}

func TestS0_18_steps(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}
	}), func(c *orchestrator.MachineConfig) { c.Limits.Steps = 3 })
	for !m.Done() {
		step(t, m, said("hm"))
	}
	require.Equal(t, 3, m.Seq())
	limit, ok := errors.AsType[*orchestrator.LimitError](m.Output().Err)
	require.True(t, ok)
	require.Equal(t, orchestrator.LimitError{Run: "r", Frame: "0", Limit: "steps", Max: 3}, *limit)
	require.Equal(t, messages.History{messages.UserText("again"), messages.AssistantText("hm")}, m.Output().Messages)
	require.Equal(t, int64(33), m.Output().Usage.Total)
}

// Each limit of the run ends it with an error that names it, and is reached but never passed.
func TestMachine_limits(t *testing.T) {
	for _, test := range []struct {
		limits delegation.Limits
		want   string
		models int
		tools  int
	}{
		{delegation.Limits{ModelCalls: 2}, "model_calls", 2, 2},
		{delegation.Limits{ToolCalls: 3}, "tool_calls", 2, 1},
		{delegation.Limits{InputTokens: 15}, "input_tokens", 2, 2},
		{delegation.Limits{OutputTokens: 3}, "output_tokens", 3, 3},
		{delegation.Limits{TotalTokens: 22}, "total_tokens", 2, 2},
		{delegation.Limits{ModelCalls: -1, Steps: 7}, "steps", 4, 3},
	} {
		t.Run(test.want, func(t *testing.T) {
			models, batches := 0, 0
			m := machine(t, only(func() *scene {
				return &scene{
					start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
					reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
					results: func([]messages.ToolOutput) nextstep.NextStep { return ask("y", "a", "b") },
				}
			}), offering("a", "b"), func(c *orchestrator.MachineConfig) { c.Limits = test.limits })
			for !m.Done() {
				if m.Pending().Kind() == nextstep.KindExecuteTools {
					batches++
					step(t, m, nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c1"}, {CallID: "c2"}}})
					continue
				}
				models++
				a := calling("a", "b")
				a.Response.Usage = messages.Usage{Input: 10, Output: 1}
				step(t, m, a)
			}
			limit, ok := errors.AsType[*orchestrator.LimitError](m.Output().Err)
			require.True(t, ok)
			require.Equal(t, test.want, limit.Limit)
			require.Equal(t, orchestrator.StatusLimit, m.Status())
			require.Equal(t, test.models, models)
			require.Equal(t, test.tools, batches)
			require.NoError(t, m.Output().Messages.Validate(), "calls that were not started are answered")
		})
	}
}

// Attempts that a wrapper hid count as model calls, and their tokens as used.
func TestMachine_countsAttempts(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{reply: func(llmclient.Response) nextstep.NextStep { return ask("again") }}
	}), func(c *orchestrator.MachineConfig) { c.Limits.ModelCalls = 3 })
	a := said("x")
	a.Response.Attempts = []llmclient.Attempt{{Usage: messages.Usage{Input: 5}}, {}}
	step(t, m, a)
	require.True(t, m.Done())
	require.Equal(t, int64(16), m.Output().Usage.Total)
}

// A child's own limits end the child, not the run.
func TestMachine_childLimits(t *testing.T) {
	var heard delegation.Output
	m := machine(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Limits: delegation.Limits{ModelCalls: 1}}
				},
				child: func(o delegation.Output) nextstep.NextStep { heard = o; return done("went on") },
			}
		},
		"child": func() *scene {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep { return ask("1") },
				reply: func(llmclient.Response) nextstep.NextStep { return nextstep.Delegate{Strategy: "grandchild"} },
			}
		},
		"grandchild": func() *scene { return &scene{start: func(delegation.Input) nextstep.NextStep { return ask("2") }} },
	})
	step(t, m, said("x"))
	require.Equal(t, orchestrator.StatusDone, m.Status())
	require.Equal(t, "went on", m.Output().Text())
	limit, ok := errors.AsType[*orchestrator.LimitError](heard.Err)
	require.True(t, ok)
	require.Equal(t, "0.1", limit.Frame)
}

// A frame may only execute tools that it offered and that its parent allowed.
func TestMachine_allowList(t *testing.T) {
	var heard []messages.ToolOutput
	m := machine(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Tools: []string{"a", "nonsense"}}
				},
				child: func(delegation.Output) nextstep.NextStep { return done("") },
			}
		},
		"child": func() *scene {
			return &scene{
				start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
				reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
				results: func(r []messages.ToolOutput) nextstep.NextStep { heard = r; return done("") },
			}
		},
	}, offering("a", "b", "c"))
	step(t, m, calling("b", "a", "c"))
	require.Equal(t, nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "c2", Name: "a", Arguments: "{}"}}}, m.Pending())
	step(t, m, nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c2", ToolName: "a", Output: "ok"}}})
	require.Len(t, heard, 3)
	require.Equal(t, `there is no tool "b" here; the tools are: a`, heard[0].Output)
	require.Equal(t, messages.StatusFailed, heard[0].Status)
	require.Equal(t, "ok", heard[1].Output)
	require.Equal(t, "c3", heard[2].CallID)
}

// A batch of calls that are all refused is answered without the outside.
func TestMachine_allRefused(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{
			reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			results: func(r []messages.ToolOutput) nextstep.NextStep { return done(r[0].Output) },
		}
	}), offering("a"))
	step(t, m, calling("a"))
	require.Equal(t, `there is no tool "a" here; no tools can be called`, m.Output().Text())
	finished := 0
	for _, e := range m.Events() {
		if e.Kind == orchestrator.EventToolFinished {
			finished++
		}
	}
	require.Equal(t, 1, finished)
}

func TestMachine_remote(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{
			start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
			child: func(o delegation.Output) nextstep.NextStep { return done("far said " + o.Text()) },
		}
	}), func(c *orchestrator.MachineConfig) { c.Remote = []string{"far"} })
	require.Equal(t, "far", m.Pending().(nextstep.Delegate).Strategy)
	hi := "hi"
	step(t, m, nextstep.DelegationResult{Output: delegation.Output{Result: &hi, Usage: messages.Usage{Input: 3}}})
	require.Equal(t, "far said hi", m.Output().Text())
	require.Equal(t, int64(3), m.Output().Usage.Total)
}

// Strategies that only delegate to each other end even where no limit on steps holds.
func TestS0_17_delegatesWithoutALimit(t *testing.T) {
	again := func() nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} }
	m := machine(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep { return again() },
				child: func(delegation.Output) nextstep.NextStep { return again() },
			}
		},
		"child": func() *scene {
			return &scene{start: func(delegation.Input) nextstep.NextStep { return done("at once") }}
		},
	}, func(c *orchestrator.MachineConfig) { c.Limits.Steps = -1 })
	require.True(t, m.Done())
	require.Equal(t, orchestrator.StatusLimit, m.Status())
}

// A remote child is confined as one of our own is: by the tools and limits of the frames above it.
func TestMachine_remoteIsConfined(t *testing.T) {
	m := machine(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{start: func(delegation.Input) nextstep.NextStep {
				return nextstep.Delegate{Strategy: "child", Tools: []string{"safe"}, Limits: delegation.Limits{Steps: 5}}
			}}
		},
		"child": func() *scene {
			return &scene{start: func(delegation.Input) nextstep.NextStep {
				return nextstep.Delegate{Strategy: "far", Tools: []string{"safe", "danger"}, Limits: delegation.Limits{ModelCalls: 7}}
			}}
		},
	}, offering("safe", "danger"), func(c *orchestrator.MachineConfig) {
		c.Remote = []string{"far"}
		c.Limits = delegation.Limits{ModelCalls: 100, ToolCalls: 9}
	})
	step := m.Pending().(nextstep.Delegate)
	require.Equal(t, []string{"safe"}, step.Tools)
	require.Equal(t, 4, step.Limits.Steps)
	require.Equal(t, 7, step.Limits.ModelCalls)
	require.Equal(t, 9, step.Limits.ToolCalls)
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
		m := machine(t, map[string]func() *scene{
			"main": func() *scene {
				hand := func() nextstep.NextStep {
					return nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "part"}}
				}
				return &scene{
					start: func(delegation.Input) nextstep.NextStep {
						return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: history}}
					},
					reply: func(llmclient.Response) nextstep.NextStep { return hand() },
					child: func(delegation.Output) nextstep.NextStep {
						if heard++; heard == delegations {
							return done("")
						}
						return hand()
					},
				}
			},
			"child": func() *scene { return &scene{} },
		})
		step(t, m, said("let me delegate"))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range delegations - 1 { // the last one ends the run, which hands over the whole conversation
			step(t, m, said("done"))
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / (delegations - 1)
	}
	cost(10) // whatever is made once
	short, long := cost(10), cost(10_000)
	t.Logf("a delegation allocates %d bytes behind 10 messages, %d behind 10,000", short, long)
	require.InEpsilon(t, short, long, 0.1)
}
