package orchestrator_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// wrong holds that m refuses an answer and is as it was.
func wrong(t *testing.T, m *orchestrator.Machine, a nextstep.Answer) {
	t.Helper()
	before, seq := m.Pending(), m.Seq()
	m.Events()
	var bad *orchestrator.AnswerError
	require.ErrorAs(t, m.Step(a), &bad)
	require.Equal(t, before.Kind(), bad.Pending)
	require.Equal(t, before, m.Pending())
	require.Equal(t, seq, m.Seq())
	require.Empty(t, m.Events())
}

// delegator asks a model, makes its calls, and delegates to far.
func delegator() *scene {
	return &scene{
		start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
		reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
		results: func([]messages.ToolOutput) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
		child:   func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
	}
}

// A wrong answer is an AnswerError and changes nothing; the right one still works afterwards.
func TestMachine_refusesWrongAnswers(t *testing.T) {
	minus := messages.Usage{Input: -1}
	m := machine(t, only(delegator), offering("a", "b"), func(c *orchestrator.MachineConfig) { c.Remote = []string{"far"} })
	reply := func(parts ...messages.AssistantContent) nextstep.APIResponse {
		return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{Content: parts}}}
	}
	one := messages.ToolCall{ID: "c1", Name: "a"}
	t.Run("replies", func(t *testing.T) {
		for name, a := range map[string]nextstep.Answer{
			"two calls of one id": reply(one, messages.ToolCall{ID: "c1", Name: "b"}),
			"a call without id":   reply(messages.ToolCall{Name: "a"}),
			"nil part":            reply(nil),
			"pointer part":        reply(&messages.Text{Text: "x"}),
			"negative usage":      nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("x"), Usage: minus}},
			"negative total":      nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("x"), Usage: messages.Usage{Input: 1, Total: -1}}},
			"negative attempt": nextstep.APIResponse{Response: &llmclient.Response{
				Message: messages.AssistantText("x"), Attempts: []llmclient.Attempt{{Usage: minus}},
			}},
			"failure with negative usage":   nextstep.Failure{Usage: minus},
			"failure with negative attempt": nextstep.Failure{Attempts: []llmclient.Attempt{{Usage: minus}}},
			"stop with negative usage":      nextstep.Stop{Usage: minus},
			"stop with negative counts":     nextstep.Stop{Spent: nextstep.Spent{ModelCalls: -1}},
		} {
			t.Run(name, func(t *testing.T) { wrong(t, m, a) })
		}
	})
	step(t, m, calling("a", "b"))
	results := func(edit func(*nextstep.ToolResults)) nextstep.ToolResults {
		a := nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c1", ToolName: "a"}, {CallID: "c2", ToolName: "b"}}}
		edit(&a)
		return a
	}
	made := func(calls ...messages.ToolCall) nextstep.ToolResults {
		return results(func(a *nextstep.ToolResults) { a.Calls = append([]messages.ToolCall{}, calls...) })
	}
	two := messages.ToolCall{ID: "c2", Name: "b", Arguments: `{"x":1}`}
	t.Run("results", func(t *testing.T) {
		for name, a := range map[string]nextstep.Answer{
			"another tool's":         results(func(a *nextstep.ToolResults) { a.Results[1].ToolName = "a" }),
			"swapped":                results(func(a *nextstep.ToolResults) { a.Results[0], a.Results[1] = a.Results[1], a.Results[0] }),
			"twice":                  results(func(a *nextstep.ToolResults) { a.Results[1] = a.Results[0] }),
			"no status":              results(func(a *nextstep.ToolResults) { a.Results[1].Status = "fine" }),
			"negative counts":        results(func(a *nextstep.ToolResults) { a.Spent.ToolCalls = -1 }),
			"negative spent":         results(func(a *nextstep.ToolResults) { a.Spent.Usage = minus }),
			"no calls made":          made(),
			"fewer calls made":       made(one),
			"more calls made":        made(one, two, messages.ToolCall{ID: "c3", Name: "a"}),
			"other calls made":       made(one, messages.ToolCall{ID: "c9", Name: "b"}),
			"another tool made":      made(one, messages.ToolCall{ID: "c2", Name: "rm"}),
			"calls made in disarray": made(two, one),
			"stop of another tool":   nextstep.Stop{Results: []messages.ToolOutput{{CallID: "c1", ToolName: "b"}, {CallID: "c2", ToolName: "b"}}},
		} {
			t.Run(name, func(t *testing.T) { wrong(t, m, a) })
		}
	})
	step(t, m, made(one, two))
	t.Run("outputs", func(t *testing.T) { wrong(t, m, nextstep.DelegationResult{Output: delegation.Output{Usage: minus}}) })
	fine := "fine"
	step(t, m, nextstep.DelegationResult{Output: delegation.Output{Result: &fine}})
	require.Equal(t, "fine", m.Output().Text())
	require.Equal(t, orchestrator.StatusDone, m.Status())
}

// A limit on tokens holds whatever a provider reports.
func TestMachine_tokenLimitsHoldForAnyUsage(t *testing.T) {
	for name, used := range map[string]messages.Usage{
		"more than an int64 holds": {Input: math.MaxInt64, Output: math.MaxInt64},
		"the most":                 {Total: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, only(func() *scene {
				return &scene{reply: func(llmclient.Response) nextstep.NextStep { return ask("more") }}
			}), func(c *orchestrator.MachineConfig) { c.Limits = delegation.Limits{TotalTokens: 100} })
			answers := 0
			for ; !m.Done() && answers < 10; answers++ {
				step(t, m, nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("x"), Usage: used}})
			}
			require.Equal(t, 1, answers)
			require.Equal(t, orchestrator.StatusLimit, m.Status())
		})
	}
}

// Calls of what is not offered end with a LimitError where no limit on steps holds: within one call
// of the Machine there is a bound of its own, and the frame above hears of it.
func TestMachine_boundsMovesThatStayInside(t *testing.T) {
	turns := 0
	call := func() nextstep.NextStep {
		turns++
		return nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "1", Name: "nothing"}}}
	}
	stubborn := func() *scene {
		return &scene{
			start:   func(delegation.Input) nextstep.NextStep { return call() },
			results: func([]messages.ToolOutput) nextstep.NextStep { return call() },
		}
	}
	unlimited := func(c *orchestrator.MachineConfig) {
		c.Limits = delegation.Limits{Steps: -1, ModelCalls: 5, ToolCalls: 5}
	}
	bounded := func(t *testing.T, err error, frame string) {
		var limit *orchestrator.LimitError
		require.ErrorAs(t, err, &limit)
		require.Equal(t, orchestrator.LimitError{Run: "r", Frame: frame, Limit: "steps without a model or a tool", Max: 10_000}, *limit)
	}
	t.Run("the root", func(t *testing.T) {
		turns = 0
		m := machine(t, only(stubborn), unlimited)
		require.Equal(t, orchestrator.StatusLimit, m.Status())
		bounded(t, m.Output().Err, "0")
		require.Equal(t, 10_001, turns)
	})
	t.Run("a child", func(t *testing.T) {
		m := machine(t, map[string]func() *scene{"child": stubborn, "main": func() *scene {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} },
				child: func(o delegation.Output) nextstep.NextStep {
					bounded(t, o.Err, "0.1")
					return ask("go on")
				},
			}
		}}, unlimited)
		require.False(t, m.Done(), "the frame above goes on")
	})
	t.Run("delegations", func(t *testing.T) {
		m := machine(t, map[string]func() *scene{
			"child": func() *scene { return &scene{start: func(delegation.Input) nextstep.NextStep { return done("") }} },
			"main": func() *scene {
				again := nextstep.Delegate{Strategy: "child"}
				return &scene{
					start: func(delegation.Input) nextstep.NextStep { return again },
					child: func(delegation.Output) nextstep.NextStep { return again },
				}
			},
		}, unlimited)
		bounded(t, m.Output().Err, "0")
	})
	t.Run("a limit on steps comes first", func(t *testing.T) {
		m := machine(t, only(stubborn), func(c *orchestrator.MachineConfig) { c.Limits = delegation.Limits{Steps: 7} })
		var limit *orchestrator.LimitError
		require.ErrorAs(t, m.Output().Err, &limit)
		require.Equal(t, "steps", limit.Limit)
	})
}

// The bound on moves inside is for those between two effects of the outside: a run that goes on and
// on with both does not reach it.
func TestMachine_boundsMovesBetweenEffects(t *testing.T) {
	m := machine(t, map[string]func() *scene{
		"child": func() *scene { return new(scene) }, // asks once
		"main": func() *scene {
			again := nextstep.Delegate{Strategy: "child"}
			return &scene{
				start: func(delegation.Input) nextstep.NextStep { return again },
				child: func(delegation.Output) nextstep.NextStep { return again },
			}
		},
	}, func(c *orchestrator.MachineConfig) { c.Limits = delegation.Limits{Steps: -1, ModelCalls: -1} })
	for range 10_010 {
		step(t, m, said("done"))
	}
	require.False(t, m.Done())
}

// The loop makes a failure of what a middleware or a client answers wrongly.
func TestLoop_wrongAnswersAreFailures(t *testing.T) {
	refuses := func(t *testing.T, client llmclient.Client, answer func(nextstep.Answer) nextstep.Answer, want string) {
		o, err := orchestrator.New(orchestrator.Config{
			Client:     client,
			Strategies: strategy.Set{"solve": caller},
			Tools:      nil,
			Middleware: []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
				return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
					a, err := next(ctx, call)
					return answer(a), err
				}
			}},
		})
		require.NoError(t, err)
		res, err := o.Run(t.Context(), task("x"))
		require.ErrorContains(t, err, want)
		require.Equal(t, orchestrator.StatusFailed, res.Status)
		require.GreaterOrEqual(t, res.Output.Usage.Total, int64(0))
	}
	same := func(a nextstep.Answer) nextstep.Answer { return a }
	t.Run("middleware", func(t *testing.T) {
		refuses(t, scripted.New(scripted.Text("x")), func(a nextstep.Answer) nextstep.Answer {
			r := a.(nextstep.APIResponse)
			resp := *r.Response
			resp.Usage.Output = -5
			return nextstep.APIResponse{Response: &resp}
		}, "its reply reports a negative usage")
	})
	negative := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return &llmclient.Response{Message: messages.AssistantText("x"), Usage: messages.Usage{Input: -1}}, nil
	})
	t.Run("client", func(t *testing.T) { refuses(t, negative, same, "the client's reply reports a negative usage") })
	failing := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, &llmclient.Error{Code: llmclient.CodeAuth, Message: "no", Usage: messages.Usage{Input: -1}}
	})
	t.Run("error of a client", func(t *testing.T) {
		refuses(t, failing, same, "no")
	})
}
