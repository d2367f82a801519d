package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// inside is the limit on moves that need nothing of the outside.
const inside = "steps without a model or a tool"

// unlimited sets no limits on steps, depth and calls of tools.
var unlimited = limited(delegation.Limits{Steps: -1, Depth: -1, ModelCalls: -1, ToolCalls: -1})

// Between two effects of the outside the number of moves is bounded where no limit is, whatever
// strategies do; the frame above hears of it.
func TestMachine_boundsMovesThatStayInside(t *testing.T) {
	turns := 0
	stubborn := func(name string) func() *scene {
		return func() *scene {
			again := func() nextstep.NextStep {
				turns++
				return nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "1", Name: name}}}
			}
			return &scene{
				Start:   func(delegation.Input) nextstep.NextStep { return ask("x", name) },
				Reply:   func(llmclient.Response) nextstep.NextStep { return again() },
				Results: func([]messages.ToolOutput) nextstep.NextStep { return again() },
			}
		}
	}
	t.Run("calls that may not be made", func(t *testing.T) {
		turns = 0
		e := begin(t, only(stubborn("nothing")), unlimited)
		e.answer("1", said(""))
		require.Equal(t, machine.StatusLimit, e.m.Status())
		require.Equal(t, machine.LimitError{Run: "r", Frame: "0", Limit: inside, Max: 10_000}, *limitOf(t, e.m.Output().Err, inside))
		require.Equal(t, 10_001, turns)
	})
	t.Run("of a child", func(t *testing.T) {
		var heard error
		e := begin(t, map[string]func() *scene{"child": stubborn("nothing"), "main": func() *scene {
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "child"} },
				Child: func(o delegation.Output) nextstep.NextStep { heard = o.Err; return ask("go on") },
			}
		}}, unlimited)
		e.answer("2", said(""))
		require.Equal(t, "0.1", limitOf(t, heard, inside).Frame)
		require.False(t, e.m.Done(), "the frame above goes on")
	})
	for name, child := range map[string]nextstep.Delegate{
		"delegations":                 {Strategy: "child"},
		"delegations to nobody":       {Strategy: "nobody"},
		"remotes that stand too deep": {Strategy: "far"},
	} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, map[string]func() *scene{
				"child": func() *scene { return &scene{Start: func(delegation.Input) nextstep.NextStep { return done("") }} },
				"main":  func() *scene { s := &patient{again: child}; return &scene{Start: s.start, Child: s.child} },
			}, limited(delegation.Limits{Steps: -1, Depth: 1, ModelCalls: -1, ToolCalls: -1}), func(c *machine.Config) { c.Remote = []string{"far"} })
			if name == "delegations to nobody" {
				require.Equal(t, machine.StatusFailed, e.m.Status(), "a strategy that does not want to know fails at once")
				return
			}
			limitOf(t, e.m.Output().Err, inside)
		})
	}
	t.Run("a limit on steps comes first", func(t *testing.T) {
		e := begin(t, only(stubborn("nothing")), limited(delegation.Limits{Steps: 7}))
		e.answer("1", said(""))
		limitOf(t, e.m.Output().Err, "steps")
	})
}

// patient delegates again and again.
type patient struct{ again nextstep.Delegate }

func (p *patient) start(delegation.Input) nextstep.NextStep  { return p.again }
func (p *patient) child(delegation.Output) nextstep.NextStep { return p.again }

// So it is with agents that need nothing of the outside, which answer at once or call themselves.
// Their verdicts are records, which bring nothing from outside.
func TestMachine_boundsAgents(t *testing.T) {
	calls := func() nextstep.NextStep {
		return nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "1", Name: "self"}}}
	}
	e := &engine{t: t, cfg: config(map[string]func() *scene{
		"main": func() *scene {
			return &scene{
				Start:   func(delegation.Input) nextstep.NextStep { return ask("x", "self") },
				Reply:   func(llmclient.Response) nextstep.NextStep { return calls() },
				Results: func([]messages.ToolOutput) nextstep.NextStep { return calls() },
			}
		},
		"quick": func() *scene { return &scene{Start: func(delegation.Input) nextstep.NextStep { return done("") }} },
	}, agent("self", "quick"), unlimited)}
	e.m = machine.New(e.cfg)
	require.NoError(t, e.m.Apply(machine.Started{Strategy: "main"}))
	require.NoError(t, e.m.Apply(machine.Answered{Effect: machine.EffectID{Seq: 1}, Answer: said("")}))
	for !e.m.Done() {
		intents := e.m.Ready().Intents
		require.Len(t, intents, 1)
		r := intents[0]
		e.m.Advance()
		require.NoError(t, e.m.Apply(r))
	}
	limitOf(t, e.m.Output().Err, inside)
}

// The bound on moves inside is for those between two effects of the outside: a run that goes on and
// on with both does not reach it.
func TestMachine_boundsMovesBetweenEffects(t *testing.T) {
	cfg := config(map[string]func() *scene{
		"child": func() *scene { return new(scene) }, // asks once
		"main": func() *scene {
			s := &patient{again: nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "x"}}}
			return &scene{Start: s.start, Child: s.child}
		},
	}, unlimited)
	m := machine.New(cfg)
	require.NoError(t, m.Apply(machine.Started{Strategy: "main"}))
	for range 10_010 {
		x := m.Ready().Effects[0]
		m.Advance()
		require.NoError(t, m.Apply(x.Answered(said("done"), began, 0)))
	}
	require.False(t, m.Done())
}
