package orchestrator_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// scene is a strategy for tests: each method is a function, and one that is nil reports an error.
type scene struct {
	start   func(delegation.Input) nextstep.NextStep
	reply   func(llmclient.Response) nextstep.NextStep
	results func([]messages.ToolOutput) nextstep.NextStep
	child   func(delegation.Output) nextstep.NextStep
	strategy.Defaults
}

func (s *scene) Initialize(in delegation.Input) nextstep.NextStep {
	if s.start == nil {
		return ask(in.Goal)
	}
	return s.start(in)
}

func (s *scene) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if s.reply == nil {
		return done(r.Message.Text())
	}
	return s.reply(r)
}

func (s *scene) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	if s.results == nil {
		return s.Defaults.ProcessToolResults(r)
	}
	return s.results(r)
}

func (s *scene) ProcessDelegationResult(o delegation.Output) nextstep.NextStep {
	if s.child == nil {
		return s.Defaults.ProcessDelegationResult(o)
	}
	return s.child(o)
}

func ask(text string, offered ...string) nextstep.NextStep {
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText(text)}}}
	for _, name := range offered {
		step.Request.Tools = append(step.Request.Tools, tools.Definition{Name: name})
	}
	return step
}

func done(text string) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: &text}}
}

func said(text string) nextstep.APIResponse {
	return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText(text), Usage: messages.Usage{Input: 10, Output: 1}}}
}

// calling is a reply that calls each of the tools once, with the ids c1, c2, ….
func calling(names ...string) nextstep.APIResponse {
	var a messages.Assistant
	for i, n := range names {
		a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprintf("c%d", i+1), Name: n, Arguments: "{}"})
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: a}}
}

// machine starts a run of the strategy "main" in a set of scenes made by the functions.
func machine(t *testing.T, set map[string]func() *scene, edit ...func(*orchestrator.MachineConfig)) *orchestrator.Machine {
	t.Helper()
	cfg := orchestrator.MachineConfig{Run: "r", Set: strategy.Set{}, Root: "main", Input: delegation.Input{Goal: "go"}}
	for name, build := range set {
		cfg.Set[name] = func() strategy.Strategy { return build() }
	}
	for _, e := range edit {
		e(&cfg)
	}
	m, err := orchestrator.NewMachine(cfg)
	require.NoError(t, err)
	return m
}

func only(s func() *scene) map[string]func() *scene { return map[string]func() *scene{"main": s} }

func step(t *testing.T, m *orchestrator.Machine, a nextstep.Answer) {
	t.Helper()
	require.NoError(t, m.Step(a))
}

func offering(names ...string) func(*orchestrator.MachineConfig) {
	return func(c *orchestrator.MachineConfig) {
		for _, n := range names {
			c.Tools = append(c.Tools, tools.Definition{Name: n})
		}
	}
}

func TestMachine_drives(t *testing.T) {
	m := machine(t, only(func() *scene { return &scene{} }))
	require.Equal(t, nextstep.KindGetChatCompletion, m.Pending().Kind())
	first := m.Pending()
	require.Equal(t, first, m.Pending(), "looking changes nothing")
	require.Equal(t, 1, m.Seq())
	step(t, m, said("hello"))
	require.True(t, m.Done())
	require.Equal(t, orchestrator.StatusDone, m.Status())
	require.Equal(t, "hello", m.Output().Text())
	require.Equal(t, messages.History{messages.UserText("go"), messages.AssistantText("hello")}, m.Output().Messages,
		"an output without messages gets those of the frame")
	require.Equal(t, int64(11), m.Output().Usage.Total)
	require.ErrorIs(t, m.Step(said("more")), orchestrator.ErrDone)
	require.Nil(t, m.Pending())
}

func TestMachine_makesARunID(t *testing.T) {
	noID := func(c *orchestrator.MachineConfig) { c.Run = "" }
	a := machine(t, only(func() *scene { return &scene{} }), noID)
	b := machine(t, only(func() *scene { return &scene{} }), noID)
	require.Len(t, a.Run(), 36)
	require.NotEqual(t, a.Run(), b.Run())
}

func TestS0_10_emptyToolList(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{start: func(delegation.Input) nextstep.NextStep { return nextstep.ExecuteTools{} }}
	}))
	require.True(t, m.Done())
	require.ErrorContains(t, m.Output().Err, "ExecuteTools holds no calls")
	require.Equal(t, delegation.CodeDefect, m.Output().Err.Code)
}

// S0-11, S0-12: what does not answer the pending step is an error that names it and changes nothing.
func TestS0_11_S0_12_wrongAnswer(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{
			start:   func(delegation.Input) nextstep.NextStep { return ask("x", "a", "b") },
			reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
			results: func(r []messages.ToolOutput) nextstep.NextStep { return done(r[0].Output + r[1].Output) },
		}
	}), offering("a", "b"))
	refuse := func(a nextstep.Answer, want string) {
		t.Helper()
		before, seq := m.Pending(), m.Seq()
		err := m.Step(a)
		wrong, ok := errors.AsType[*orchestrator.AnswerError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, before.Kind(), wrong.Pending)
		require.ErrorContains(t, err, want)
		require.Equal(t, before, m.Pending())
		require.Equal(t, seq, m.Seq())
	}
	refuse(nextstep.ToolResults{}, "orchestrator: run r frame 0 step 1: nextstep.ToolResults does not answer get_chat_completion: it answers another kind of step")
	refuse(nextstep.DelegationResult{}, "does not answer get_chat_completion")
	refuse(nil, "it is nil")
	refuse(&nextstep.APIResponse{}, "answers are values")
	refuse(nextstep.APIResponse{}, "it holds no response")
	step(t, m, calling("a", "b"))
	refuse(said("x"), "does not answer execute_tools")
	refuse(nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c1"}}}, "it holds 1 results for 2 calls")
	refuse(nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c2"}, {CallID: "c1"}}}, `result 0 answers call "c2", not "c1"`)
	step(t, m, nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "c1", Output: "A"}, {CallID: "c2", Output: "B"}}})
	require.Equal(t, "AB", m.Output().Text(), "the right answer still works")
}

func TestS0_13_unknownDelegate(t *testing.T) {
	called := false
	m := machine(t, only(func() *scene {
		return &scene{
			start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "nobody"} },
			child: func(delegation.Output) nextstep.NextStep { called = true; return done("made up") },
		}
	}))
	require.True(t, m.Done())
	require.False(t, called, "the parent is given no made-up result")
	require.ErrorContains(t, m.Output().Err, `no strategy "nobody"; known: main`)
	_, ok := errors.AsType[*strategy.UnknownError](m.Output().Err)
	require.True(t, ok)
}

// S0-17: endless delegation ends at the depth limit, each level hears of it, and the trace shows every level.
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

func TestMachine_childResultResumesParent(t *testing.T) {
	var heard []delegation.Output
	child := nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "part"}}
	m := machine(t, map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				start: func(delegation.Input) nextstep.NextStep { return child },
				child: func(o delegation.Output) nextstep.NextStep {
					heard = append(heard, o)
					if len(heard) == 2 {
						return done(heard[0].Text() + heard[1].Text())
					}
					return child
				},
			}
		},
		"child": func() *scene { return &scene{} },
	})
	name, depth := m.Frame()
	require.Equal(t, "0.1", name)
	require.Equal(t, 2, depth)
	step(t, m, said("A"))
	name, _ = m.Frame()
	require.Equal(t, "0.2", name)
	step(t, m, nextstep.Failure{Code: "auth", Message: "no"})
	require.True(t, m.Done(), "a child's failure is a result for its parent")
	require.Equal(t, "A", m.Output().Text())
	require.Equal(t, delegation.Code("auth"), heard[1].Err.Code)
	require.Equal(t, messages.History{messages.UserText("part")}, heard[1].Messages)
	require.Equal(t, int64(11), m.Output().Usage.Total, "usage sums over the subtree")
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

// What a strategy must not do fails its frame, not the process, and the messages so far come back.
func TestMachine_badStrategies(t *testing.T) {
	open := messages.History{messages.UserText("x"), messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "c", Name: "n"}}}}
	for name, test := range map[string]struct {
		next func() nextstep.NextStep
		code delegation.Code
		want string
	}{
		"panics":      {func() nextstep.NextStep { panic("oops") }, delegation.CodePanic, `strategy "main": ProcessAPIResponse panicked: oops`},
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
		`Root: strategy: no strategy "x"; known: a, b`: {Root: "x", Set: strategy.Set{"a": nil, "b": nil}},
		`the factory of "a" is nil`:                    {Root: "a", Set: strategy.Set{"a": nil}},
		`the factory of strategy "a" panicked: oops`:   {Root: "a", Set: strategy.Set{"a": func() strategy.Strategy { panic("oops") }}},
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

func TestMachine_remote(t *testing.T) {
	m := machine(t, only(func() *scene {
		return &scene{
			start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
			child: func(o delegation.Output) nextstep.NextStep { return done("far said " + o.Text()) },
		}
	}), func(c *orchestrator.MachineConfig) { c.Remote = []string{"far"} })
	require.Equal(t, nextstep.Delegate{Strategy: "far"}, m.Pending())
	hi := "hi"
	step(t, m, nextstep.DelegationResult{Output: delegation.Output{Result: &hi, Usage: messages.Usage{Input: 3}}})
	require.Equal(t, "far said hi", m.Output().Text())
	require.Equal(t, int64(3), m.Output().Usage.Total)
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
