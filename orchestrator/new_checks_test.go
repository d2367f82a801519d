package orchestrator_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// tabled is a strategy that moves by a table and does not tell its state itself.
type tabled struct {
	scene
	fsm *strategy.FSM
}

func (s *tabled) FSM() *strategy.FSM { return s.fsm }

func (s *tabled) Initialize(delegation.Input) nextstep.NextStep {
	return s.fsm.Then("start", ask("hello"))
}

func (s *tabled) by(table *strategy.Table, caps strategy.Caps) func() strategy.Strategy {
	return func() strategy.Strategy { return &tabled{fsm: table.New(caps)} }
}

// circle is a table in which a model is asked until an answer is good, at most as often as the cap
// says, if it is capped.
func circle(limit string) *strategy.Table {
	asking := []strategy.State{"asking"}
	return &strategy.Table{
		Name: "circle", Initial: "ready",
		States: []strategy.StateRule{
			{Name: "ready"}, {Name: "asking", Awaits: nextstep.KindGetChatCompletion}, {Name: "done", Awaits: nextstep.KindComplete},
		},
		Rules: []strategy.Rule{
			{From: []strategy.State{"ready"}, On: "start", To: "asking"},
			{From: asking, On: "again", To: "asking", Cap: limit},
			{From: asking, On: "end", To: "done"},
		},
	}
}

// New finds what is wrong with the table of a strategy, or with the values of its caps, before a
// model is asked.
func TestNew_checksTables(t *testing.T) {
	swamp := circle("rounds")
	swamp.Rules = swamp.Rules[:2]
	var s tabled
	for name, test := range map[string]struct {
		factory func() strategy.Strategy
		want    string
	}{
		"uncapped cycle":    {s.by(circle(""), nil), `closes a cycle through "asking" that no cap bounds`},
		"dead end":          {s.by(swamp, strategy.Caps{"rounds": 1}), `state "done": cannot be reached`},
		"cap without value": {s.by(circle("rounds"), nil), `cap "rounds" needs a value`},
		"negative cap":      {s.by(circle("rounds"), strategy.Caps{"rounds": -2}), `cap "rounds" needs a value`},
		"cap of no rule":    {s.by(circle("rounds"), strategy.Caps{"rounds": 1, "laps": 1}), `its rules name only`},
		"zero FSM":          {func() strategy.Strategy { return &tabled{fsm: new(strategy.FSM)} }, "not made by Table.New"},
		"nil FSM":           {func() strategy.Strategy { return &tabled{} }, "not made by Table.New"},
	} {
		t.Run(name, func(t *testing.T) {
			set := strategy.Set{"odd": test.factory, "good": completetask.New(completetask.Config{})}
			_, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: set})
			require.ErrorContains(t, err, `orchestrator: Strategies: strategy "odd": `)
			require.ErrorContains(t, err, test.want)
			wrong, ok := errors.AsType[*orchestrator.ConfigError](err)
			require.True(t, ok)
			require.Equal(t, "Strategies", wrong.Field)
			err = machine.New(&machine.Config{Strategies: set}).Apply(machine.Started{Strategy: "odd"})
			require.ErrorContains(t, err, test.want)
		})
	}
}

// A strategy whose table New cannot see is taken, and named in one warning.
func TestNew_warnsOfStrategiesWithoutATable(t *testing.T) {
	var s tabled
	set := strategy.Set{
		"bare": func() strategy.Strategy { return &scene{} }, "also-bare": func() strategy.Strategy { return &scene{} },
		"tabled": s.by(circle("rounds"), strategy.Caps{"rounds": 1}), "task": completetask.New(completetask.Config{}),
	}
	var log strings.Builder
	cfg := orchestrator.Config{Client: scripted.New(), Strategies: set, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	_, err := orchestrator.New(cfg)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), `strategies="[also-bare bare]"`)

	log.Reset()
	delete(set, "bare")
	delete(set, "also-bare")
	_, err = orchestrator.New(cfg)
	require.NoError(t, err)
	require.Empty(t, log.String())
}

// New keeps copies: what a program does with its maps and slices afterwards is no business of the
// runs.
func TestNew_copiesWhatItKeeps(t *testing.T) {
	set := strategy.Set{"main": func() strategy.Strategy {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
			Child: func(o delegation.Output) nextstep.NextStep { return done(o.Text()) },
		}
	}}
	near := "near"
	remote := map[string]orchestrator.Remote{"far": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
		return delegation.Output{Result: &near}, nil
	}}
	list := []tools.Tool{echo("a")}
	wraps := []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler { return next }}
	cfg := orchestrator.Config{Client: scripted.New(), Strategies: set, Remote: remote, Tools: list, Middleware: wraps}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)

	changed := make(chan struct{})
	go func() { // at the same time as a run, for the race detector
		defer close(changed)
		set["main"], remote["far"], list[0], wraps[0] = nil, nil, nil, nil
		delete(remote, "far")
		set["other"] = nil
	}()
	for range 20 {
		res := ran(t, o, task("go"))
		require.Equal(t, "near", res.Output.Text())
	}
	waittest.Receive(t, changed)
	res := ran(t, o, task("go"))
	require.Equal(t, "near", res.Output.Text())
}

// A policy that is put into the map of Config.Approve later is no policy of this Orchestrator.
func TestApprove_copiesItsRules(t *testing.T) {
	cfg := orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"a": machine.AllowAlways}}
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("a", "!", "1")), scripted.Text("ok")), with(echo("a")),
		func(c *orchestrator.Config) { c.Approve = &cfg })
	cfg.Tools["a"] = machine.AllowNever
	res := ran(t, o, task("go"))
	require.Equal(t, "a!", res.Output.ToolMetas()[0].Output)
}

// pointed is a tool whose methods need what it points to.
type pointed struct{ name string }

func (p *pointed) Definition() tools.Definition                 { return tools.Definition{Name: p.name} }
func (p *pointed) Call(context.Context, string) (string, error) { return p.name, nil }

// A nil pointer in the place of a tool is a mistake of the configuration, and no panic.
func TestNew_nilPointerOfATool(t *testing.T) {
	_, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(), Strategies: strategy.Set{"task": completetask.New(completetask.Config{})},
		Tools: []tools.Tool{echo("a"), (*pointed)(nil)},
	})
	require.EqualError(t, err, `orchestrator: Tools: tool "#1": a nil *orchestrator_test.pointed: make one, or leave it out`)
	wrong, ok := errors.AsType[*orchestrator.ConfigError](err)
	require.True(t, ok)
	require.Equal(t, "Tools", wrong.Field)
}
