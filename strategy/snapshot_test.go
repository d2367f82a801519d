package strategy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var loopSteps = map[strategy.Trigger]nextstep.NextStep{
	"start": nextstep.GetChatCompletion{}, "call": nextstep.ExecuteTools{}, "acted": nextstep.GetChatCompletion{}, "end": nextstep.Complete{},
}

// A machine that is put into the position of another one makes the same moves as the other one,
// also if it was in a final state before. No other machine of the table moves.
func TestFSM_SetPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := loop()
		walk := func(rounds int, label string) *strategy.FSM {
			m := table.New(strategy.Caps{"rounds": rounds})
			for _, on := range rapid.SliceOfN(rapid.SampledFrom([]strategy.Trigger{"start", "call", "acted", "end"}), 0, 8).Draw(t, label) {
				m.Then(on, loopSteps[on])
			}
			return m
		}
		from, other := walk(rapid.IntRange(-1, 3).Draw(t, "rounds"), "from"), walk(1, "other")
		to := walk(1, "to")
		at, stays := from.Position(), other.Position()
		data, err := json.Marshal(at)
		require.NoError(t, err)
		var read strategy.Position
		require.NoError(t, json.Unmarshal(data, &read))
		require.NoError(t, to.SetPosition(read))
		require.Equal(t, at, to.Position())
		read.Left["rounds"] = 100
		require.Equal(t, at, to.Position(), "Left is copied")
		to.Position().Left["rounds"] = 100
		require.Equal(t, at, to.Position(), "Left is the caller's")
		for _, on := range rapid.SliceOf(rapid.SampledFrom([]strategy.Trigger{"start", "call", "acted", "end"})).Draw(t, "then") {
			require.Equal(t, from.Can(on), to.Can(on))
			require.Equal(t, from.Then(on, loopSteps[on]), to.Then(on, loopSteps[on]))
			require.Equal(t, from.Position(), to.Position())
		}
		require.Equal(t, stays, other.Position())
		require.Equal(t, strategy.State("ready"), table.New(strategy.Caps{"rounds": 1}).State())
	})
}

func TestFSM_Position_golden(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": strategy.Unbounded})
	m.Then("start", nextstep.GetChatCompletion{})
	data, err := json.Marshal(m.Position())
	require.NoError(t, err)
	require.JSONEq(t, `{"state": "asking", "left": {"rounds": -1}}`, string(data))
	require.Equal(t, strategy.Position{}, (*strategy.FSM)(nil).Position())
	require.Equal(t, strategy.Position{}, new(strategy.FSM).Position())
}

// A position that does not fit is refused with its name, and the machine stays where it was.
func TestFSM_SetPosition_refuses(t *testing.T) {
	m := loop().New(strategy.Caps{"rounds": 2})
	m.Then("start", nextstep.GetChatCompletion{})
	before := m.Position()
	for _, test := range []struct {
		position strategy.Position
		want     string
	}{
		{strategy.Position{State: "lost", Left: map[string]int{"rounds": 1}}, `state "lost": the table has no such state`},
		{strategy.Position{Left: map[string]int{"rounds": 1}}, `state "": the table has no such state`},
		{strategy.Position{State: "acting"}, `cap "rounds": what is left of it is missing`},
		{strategy.Position{State: "acting", Left: map[string]int{"rounds": -2}}, `cap "rounds": -2 cannot be left of it`},
		{strategy.Position{State: "acting", Left: map[string]int{"rounds": 1, "z": 1, "retries": 1}}, `cap "retries": the table has no such cap`},
	} {
		err := m.SetPosition(test.position)
		require.EqualError(t, err, `strategy: table "loop": a position does not fit: `+test.want)
		require.Equal(t, before, m.Position())
	}
	for _, m := range []*strategy.FSM{nil, {}, loop().New(nil)} {
		require.Error(t, m.SetPosition(before))
		require.Equal(t, m.Check(), m.SetPosition(before))
	}
}
