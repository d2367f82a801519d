package strategy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/looplab/fsm"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

func TestFSM_Then(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": 1})
	ask, act, end := nextstep.GetChatCompletion{}, nextstep.ExecuteTools{}, nextstep.Complete{}

	require.Equal(t, ask, m.Then("start", ask))
	require.Equal(t, strategy.State("asking"), m.State())
	require.Equal(t, act, m.Then("call", act))
	require.Equal(t, ask, m.Then("acted", ask))
	require.Equal(t, act, m.Then("call", act))

	require.False(t, m.Can("acted"), "the cap is used up")
	step := m.Then("acted", ask).(nextstep.ReportError)
	require.EqualError(t, step.Err, `strategy: table "loop": cap "rounds" is used up: trigger "acted" refused in state "acting"`)
	require.Equal(t, delegation.CodeLimit, delegation.AsError(step.Err).Code)
	require.Equal(t, strategy.State("acting"), m.State(), "a refused trigger leaves the state")

	require.IsType(t, nextstep.ReportError{}, m.Then("end", end), "no rule here")
	require.Equal(t, strategy.State("acting"), m.State())
}

// The final state of a machine that has ended stays, whatever the machines after it do.
func TestFSM_finalStateIsShared(t *testing.T) {
	table := loop()
	ask, end := nextstep.GetChatCompletion{}, nextstep.Complete{}
	ended := table.New(strategy.Caps{"rounds": 1})
	ended.Then("start", ask)
	ended.Then("end", end)
	last := ended.State()
	m := table.New(strategy.Caps{"rounds": 1})
	require.Equal(t, table.Initial, m.State())
	m.Then("start", ask)
	require.Equal(t, last, ended.State())
}

// The rule that was taken last has a name, also if it led back to the same state; a refused trigger
// changes nothing of it.
func TestFSM_Trigger(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": 1})
	require.Equal(t, strategy.Trigger(""), m.Trigger())
	require.Zero(t, m.Moves())
	m.Then("start", nextstep.GetChatCompletion{})
	m.Then("call", nextstep.ExecuteTools{})
	require.Equal(t, strategy.Trigger("call"), m.Trigger())
	require.Equal(t, 2, m.Moves())
	m.Then("end", nextstep.Complete{}) // there is no such rule
	m.Then("acted", nextstep.Complete{})
	require.Equal(t, strategy.Trigger("call"), m.Trigger())
	require.Equal(t, 2, m.Moves())
	require.NoError(t, m.SetPosition(strategy.Position{State: "asking", Left: map[string]int{"rounds": 1}}))
	require.Equal(t, strategy.Trigger(""), m.Trigger(), "no rule led there")
	require.Equal(t, 2, m.Moves())
	m.Then("end", nextstep.Complete{})
	require.Equal(t, strategy.Trigger("end"), m.Trigger())
	require.Equal(t, 3, m.Moves())
	require.Equal(t, strategy.Trigger(""), (*strategy.FSM)(nil).Trigger())
	require.Zero(t, (*strategy.FSM)(nil).Moves())
}

// S0-11, S0-12: a trigger out of turn and a step of the wrong kind are errors that do not change
// the state; the right ones still work afterwards.
func TestS0_11_S0_12_FSM_refuses(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": strategy.Unbounded})
	for _, test := range []struct {
		on   strategy.Trigger
		step nextstep.NextStep
		want string
	}{
		{"acted", nextstep.GetChatCompletion{}, `strategy: table "loop": trigger "acted" has no rule in state "ready"`},
		{"nonsense", nextstep.GetChatCompletion{}, `strategy: table "loop": trigger "nonsense" has no rule in state "ready"`},
		{"start", nextstep.Complete{}, `strategy: table "loop": trigger "start" in state "ready" leads to "asking", which awaits get_chat_completion, not complete`},
		{"start", nil, `strategy: table "loop": trigger "start" in state "ready" leads to "asking", which awaits get_chat_completion, not no step`},
	} {
		step := m.Then(test.on, test.step).(nextstep.ReportError)
		require.EqualError(t, step.Err, test.want)
		require.Equal(t, delegation.CodeDefect, delegation.AsError(step.Err).Code)
		require.Equal(t, strategy.State("ready"), m.State())
	}
	require.IsType(t, nextstep.GetChatCompletion{}, m.Then("start", nextstep.GetChatCompletion{}))
}

// A method that is called out of turn is a defect, whatever the caps are, and does not change the
// state.
func TestFSM_OutOfTurn(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": 0})
	for _, state := range []strategy.State{"ready", "asking", "acting"} {
		step := m.OutOfTurn().(nextstep.ReportError)
		require.EqualError(t, step.Err, `strategy: table "loop": a method was called out of turn, in state "`+string(state)+`"`)
		require.Equal(t, delegation.CodeDefect, delegation.AsError(step.Err).Code)
		require.Equal(t, state, m.State())
		m.Then("start", nextstep.GetChatCompletion{})
		if state == "asking" {
			m.Then("call", nextstep.ExecuteTools{})
		}
	}
	for _, m := range []*strategy.FSM{nil, {}, loop().New(nil)} {
		require.Equal(t, m.Check(), errors.Unwrap(m.OutOfTurn().(nextstep.ReportError).Err))
	}
}

func TestFSM_unbounded(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": strategy.Unbounded})
	m.Then("start", nextstep.GetChatCompletion{})
	for range 1000 {
		require.Equal(t, nextstep.ExecuteTools{}, m.Then("call", nextstep.ExecuteTools{}))
		require.Equal(t, nextstep.GetChatCompletion{}, m.Then("acted", nextstep.GetChatCompletion{}))
	}
}

// For any table and any walk, an FSM and looplab's Event reach the same state and refuse the same
// triggers.
func TestFSM_agreesWithLooplab(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := []strategy.State{"a", "b", "c", "d"}
		triggers := []strategy.Trigger{"x", "y", "z"}
		table := &strategy.Table{Name: "random", Initial: "ready", States: []strategy.StateRule{{Name: "ready"}, {Name: "end", Awaits: finish}}}
		for _, s := range states {
			table.States = append(table.States, strategy.StateRule{Name: s, Awaits: chat})
		}
		table.Rules = []strategy.Rule{rule("ready", "x", "a"), {From: states, On: "end", To: "end"}}
		var events fsm.Events
		for _, from := range states {
			for _, on := range triggers {
				if to := rapid.SampledFrom(append([]strategy.State{""}, states...)).Draw(t, "to"); to != "" {
					table.Rules = append(table.Rules, strategy.Rule{From: []strategy.State{from}, On: on, To: to, Cap: "any"})
				}
			}
		}
		if table.Validate() != nil {
			return // a state cannot be reached
		}
		for _, r := range table.Rules {
			for _, from := range r.From {
				events = append(events, fsm.EventDesc{Name: string(r.On), Src: []string{string(from)}, Dst: string(r.To)})
			}
		}
		ours := table.New(strategy.Caps{"any": strategy.Unbounded})
		theirs := fsm.NewFSM("ready", events, nil)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			on := rapid.SampledFrom(append([]strategy.Trigger{"end"}, triggers...)).Draw(t, "on")
			var step nextstep.NextStep = nextstep.GetChatCompletion{}
			if on == "end" {
				step = nextstep.Complete{}
			}
			_, refused := ours.Then(on, step).(nextstep.ReportError)
			err := theirs.Event(context.Background(), string(on))
			if same, ok := errors.AsType[fsm.NoTransitionError](err); ok && same.Err == nil {
				err = nil
			}
			if refused != (err != nil) || string(ours.State()) != theirs.Current() {
				t.Fatalf("%s: refused %v in %s, looplab %v in %s", on, refused, ours.State(), err, theirs.Current())
			}
		}
	})
}

func TestSet_New(t *testing.T) {
	set := strategy.Set{"b": nil, "a": func() strategy.Strategy { return nil }}
	_, err := set.New("c")
	unknown, ok := errors.AsType[*strategy.UnknownError](err)
	require.True(t, ok)
	require.Equal(t, []string{"a", "b"}, unknown.Known)
	require.EqualError(t, err, `strategy: no strategy "c"; known: a, b`)
	_, err = set.New("b")
	require.EqualError(t, err, `strategy: the factory of "b" is nil: give it one, such as completetask.New returns`)
	_, err = set.New("a")
	require.EqualError(t, err, `strategy: the factory of "a" returned nil: it must return a new strategy at each call`)
	_, err = strategy.Set(nil).New("x")
	require.EqualError(t, err, `strategy: no strategy "x"; known: none`)
}

func TestDefaults(t *testing.T) {
	var d strategy.Defaults
	for _, step := range []nextstep.NextStep{
		d.ProcessAPIResponse(llmclient.Response{}),
		d.ProcessToolResults([]messages.ToolOutput{}),
		d.ProcessDelegationResult(delegation.Output{}),
	} {
		require.Equal(t, delegation.CodeDefect, delegation.AsError(step.(nextstep.ReportError).Err).Code)
	}
}

// looplab/fsm is asked first: Can and Then refuse a trigger without a rule, in every state.
func TestFSM_refusesWhatHasNoRule(t *testing.T) {
	table := loop()
	for _, path := range [][]strategy.Trigger{{}, {"start"}, {"start", "call"}, {"start", "end"}} {
		m := table.New(strategy.Caps{"rounds": 1})
		steps := map[strategy.Trigger]nextstep.NextStep{"start": nextstep.GetChatCompletion{}, "call": nextstep.ExecuteTools{}, "end": nextstep.Complete{}}
		for _, on := range path {
			require.True(t, m.Can(on))
			require.Equal(t, steps[on], m.Then(on, steps[on]))
		}
		state := m.State()
		for _, on := range []strategy.Trigger{"start", "call", "acted", "end", "nonsense"} {
			allowed := false
			for _, r := range table.Rules {
				allowed = allowed || r.On == on && r.From[0] == state
			}
			require.Equal(t, allowed, m.Can(on), "%q in %q", on, state)
			if allowed {
				continue
			}
			step := m.Then(on, nextstep.GetChatCompletion{}).(nextstep.ReportError)
			require.EqualError(t, step.Err, fmt.Sprintf("strategy: table \"loop\": trigger %q has no rule in state %q", on, state))
			require.Equal(t, state, m.State())
		}
	}
}

// Frames of one table share the machines of their final states, and reuse each other's machines. No
// frame sees the state of another at any time.
func TestFSM_framesOfOneTableStandAlone(t *testing.T) {
	table, ask, end := loop(), nextstep.GetChatCompletion{}, nextstep.Complete{}
	over := table.New(strategy.Caps{"rounds": 1})
	over.Then("start", ask)
	require.Equal(t, end, over.Then("end", end))
	next := table.New(strategy.Caps{"rounds": 1})
	require.Equal(t, strategy.State("ready"), next.State())
	require.Equal(t, strategy.State("done"), over.State())
	next.Then("start", ask)
	require.Equal(t, strategy.State("asking"), next.State())
	require.Equal(t, strategy.State("done"), over.State())
	require.False(t, over.Can("end"))
	require.True(t, next.Can("end"))
	require.Equal(t, end, next.Then("end", end))
	require.Equal(t, strategy.State("done"), next.State())
}

// A zero FSM refuses every trigger with an error that says what it is.
func TestFSM_zeroRefuses(t *testing.T) {
	for name, m := range map[string]*strategy.FSM{"zero": {}, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			require.False(t, m.Can("start"))
			require.Equal(t, strategy.State(""), m.State())
			step := m.Then("start", nextstep.GetChatCompletion{}).(nextstep.ReportError)
			require.ErrorContains(t, step.Err, "not made by Table.New")
			require.ErrorContains(t, m.Check(), "not made by Table.New")
		})
	}
}
