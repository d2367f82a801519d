package machine_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/growth"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// many is a reply that calls a tool n times.
func many(n int, name string) nextstep.APIResponse {
	var a messages.Assistant
	for i := range n {
		a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprintf("call_%08d", i), Name: name, Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: a}}
}

// unwatched drives a Machine without holding laws. It does what is due, and answers effects in the
// order of their release, until the run ends or is told to stop.
func unwatched(t *testing.T, cfg *machine.Config, n int, name string, hook func(m *machine.Machine, e *machine.Effect) machine.Record) *machine.Machine {
	m := machine.New(cfg)
	apply := func(r machine.Record) []machine.Effect {
		require.NoError(t, m.Apply(r))
		for len(m.Ready().Intents) > 0 {
			i := m.Ready().Intents[0].(machine.Intended)
			i.At = began
			require.NoError(t, m.Apply(i))
		}
		due := append([]machine.Effect(nil), m.Ready().Effects...)
		m.Advance()
		return due
	}
	open := apply(machine.Started{At: began, Strategy: "main", Input: delegation.Input{Goal: "go"}})
	for len(open) > 0 && !m.Done() {
		e := open[0]
		open = open[1:]
		var r machine.Record
		switch {
		case hook != nil && e.Kind != machine.EffectModel:
			r = hook(m, &e)
		case e.Kind == machine.EffectPerson:
			r = machine.Replied{At: began, Reply: machine.Reply{WaitID: e.Wait.ID, Approve: true, Text: "yes"}}
		case e.Kind == machine.EffectTool:
			r = e.Answered(result(e.Call.ID, "x"), began, 0)
		case e.Frame == "0" && m.Seq() == 1:
			r = e.Answered(many(n, name), began, 0)
		default:
			r = e.Answered(said("done"), began, 0)
		}
		if r != nil {
			open = append(open, apply(r)...)
		}
	}
	return m
}

// What a reply costs grows with the number of its calls, and not with its square: whichever way the
// calls go.
func TestGrowth_callsOfOneReply(t *testing.T) {
	costs := growth.Of(t)
	every := limited(delegation.Limits{ToolCalls: -1, Steps: -1, ModelCalls: -1})
	def := func(d tools.Definition) func(*machine.Config) { d.Name = "t"; return tool(d) }
	asks := func(_ *machine.Machine, e *machine.Effect) machine.Record {
		switch {
		case e.Kind == machine.EffectPerson:
			return machine.Replied{At: began, Reply: machine.Reply{WaitID: e.Wait.ID, Text: "yes"}}
		case len(e.Replies) == 0:
			return machine.Suspended{At: began, Effect: e.ID, Waits: []machine.Wait{question(e, "?")}}
		default:
			return e.Answered(result(e.Call.ID, "x"), began, 0)
		}
	}
	stops := func(_ *machine.Machine, e *machine.Effect) machine.Record {
		if e.ID.Index == 1 {
			return machine.Stopped{Reason: "enough"}
		}
		return e.Answered(result(e.Call.ID, "x"), began, 0)
	}
	for name, test := range map[string]struct {
		edits []func(*machine.Config)
		hook  func(*machine.Machine, *machine.Effect) machine.Record
	}{
		"read-only":           {[]func(*machine.Config){def(tools.Definition{ReadOnly: true})}, nil},
		"unsafe":              {[]func(*machine.Config){def(tools.Definition{})}, nil},
		"all at once":         {[]func(*machine.Config){def(tools.Definition{}), places(-1)}, nil},
		"one after the other": {[]func(*machine.Config){def(tools.Definition{Sequential: true})}, nil},
		"approved":            {[]func(*machine.Config){def(tools.Definition{NeedsApproval: true})}, nil},
		"refused":             {[]func(*machine.Config){def(tools.Definition{}), judged(machine.AllowNever)}, nil},
		"asking":              {[]func(*machine.Config){def(tools.Definition{ReadOnly: true})}, asks},
		"not offered":         {nil, nil},
		"stopped":             {[]func(*machine.Config){def(tools.Definition{NeedsApproval: true})}, stops},
		"agents":              {[]func(*machine.Config){agent("t", "part")}, nil},
		"agents at once":      {[]func(*machine.Config){agent("t", "part"), places(-1)}, nil},
		"agents at their limits": {[]func(*machine.Config){places(-1), agent("t", "deep", func(a *machine.Agent) {
			a.Limits = delegation.Limits{Steps: 1}
		})}, nil},
		"agents' children at their limits": {[]func(*machine.Config){places(-1), agent("t", "over", func(a *machine.Agent) {
			a.Limits = delegation.Limits{Steps: 2}
		})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := map[string]func() *scene{
				"main": caller("t"), "part": func() *scene { return &scene{} },
				"over": func() *scene {
					return &scene{Start: func(delegation.Input) nextstep.NextStep {
						return nextstep.Delegate{Strategy: "deep", Input: delegation.Input{Goal: "x"}}
					}}
				},
				"deep": func() *scene {
					return &scene{Reply: func(llmclient.Response) nextstep.NextStep { return ask("more") }}
				},
			}
			cfg := config(set, append(test.edits, every)...)
			costs.AreLinear(t, 250, func(n int) {
				m := unwatched(t, cfg, n, "t", test.hook)
				require.True(t, m.Done() || test.hook != nil)
				if m.Done() {
					require.Len(t, m.Output().ToolMetas(), n)
				}
			})
		})
	}
}

// So does what it costs to fold such a run, and to take it up again in the middle.
func TestGrowth_resumed(t *testing.T) {
	costs := growth.Of(t)
	cfg := config(only(caller("t")), tool(tools.Definition{Name: "t", NeedsApproval: true}), limited(delegation.Limits{ToolCalls: -1}))
	costs.AreLinear(t, 250, func(n int) {
		m := machine.New(cfg)
		require.NoError(t, m.Apply(machine.Started{At: began, Strategy: "main"}))
		require.NoError(t, m.Apply(machine.Answered{At: began, Effect: machine.EffectID{Seq: 1}, Answer: many(n, "t")}))
		for i := range n {
			require.NoError(t, m.Apply(machine.Intended{At: began, Effect: machine.EffectID{Seq: 2, Index: i + 1}, Frame: "0", Tool: "t", Verdict: machine.VerdictAsk}))
			m.Advance()
		}
		require.NoError(t, m.Apply(machine.Resumed{At: began}))
		waits := m.Waits()
		require.Len(t, waits, n)
		m.Advance()
		for _, w := range waits {
			require.NoError(t, m.Apply(machine.Replied{At: began, Reply: machine.Reply{WaitID: w.ID}}))
			require.Contains(t, []machine.Status{machine.StatusWaiting, machine.StatusDone}, m.Status())
			m.Advance()
		}
		require.True(t, m.Done())
	})
}

// What a step costs does not grow with the steps that are behind it: of a strategy that asks with
// all that was said so far.
func TestGrowth_steps(t *testing.T) {
	growth.Of(t).AreLinear(t, 200, func(n int) {
		var said messages.History
		more := func() nextstep.NextStep {
			return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: slices.Clip(said), Tools: []tools.Definition{{Name: "t"}}}}
		}
		talk := func() *scene {
			return &scene{
				Start: func(in delegation.Input) nextstep.NextStep {
					said = append(said, messages.UserText(in.Goal))
					return more()
				},
				Reply: func(r llmclient.Response) nextstep.NextStep {
					if said = append(said, r.Message); len(said) >= 2*n {
						return done("enough")
					}
					return nextstep.ExecuteTools{Calls: r.Message.Calls()}
				},
				Results: func(outs []messages.ToolOutput) nextstep.NextStep {
					said = append(said, messages.Tool{ToolOutput: outs[0]})
					return more()
				},
			}
		}
		m := machine.New(config(only(talk), offering("t"), limited(delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1})))
		require.NoError(t, m.Apply(machine.Started{At: began, Strategy: "main", Input: delegation.Input{Goal: "go"}}))
		for !m.Done() {
			e := m.Ready().Effects[0]
			m.Advance()
			answer := nextstep.Answer(result("c1", "x"))
			if e.Kind == machine.EffectModel {
				answer = calling("t")
			}
			require.NoError(t, m.Apply(e.Answered(answer, began, 0)))
		}
		require.Nil(t, m.Output().Err)
		require.Equal(t, n, m.Output().Counts.ModelCalls)
	})
}

// What a run keeps in memory does not grow with the steps that are behind it, also where there is
// always somebody who waits for a place.
func TestGrowth_memory(t *testing.T) {
	cfg := config(map[string]func() *scene{"main": caller("loop"), "loop": looper}, agent("loop", "loop"), places(1),
		limited(delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1}))
	m := machine.New(cfg)
	apply := func(r machine.Record) {
		require.NoError(t, m.Apply(r))
		for len(m.Ready().Intents) > 0 {
			require.NoError(t, m.Apply(m.Ready().Intents[0]))
		}
	}
	used := func() int {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	apply(machine.Started{At: began, Strategy: "main"})
	m.Advance()
	apply(machine.Answered{At: began, Effect: machine.EffectID{Seq: 1}, Answer: many(3, "loop")})
	before := 0
	steps := prove.DepthOr(20_000, 100_000)
	for i := range steps {
		if i == 1000 {
			before = used()
		}
		x := m.Ready().Effects[0]
		m.Advance()
		apply(x.Answered(said("on"), began, 0))
	}
	require.Less(t, used()-before, 5*steps/2, "bytes")
	runtime.KeepAlive(m)
}
