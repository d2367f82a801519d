package machine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// A Machine that is used again behaves as a new one does.
func TestMachine_reset(t *testing.T) {
	cfg := config(map[string]func() *scene{"main": caller("work", "t"), "part": caller("t")}, agent("work", "part"), offering("t"))
	play := func(m *machine.Machine, leave int) *engine {
		e := idle(t, cfg)
		e.m = m
		e.apply(cfg.Start(machine.Started{At: began, Run: "r", Strategy: "main", Input: delegation.Input{Goal: "go"}}))
		for i, step := range []func(){
			func() { e.answer("1", calling("work", "t", "work")) },
			func() { e.answer("3", calling("t")) },
			func() { e.answer("2/2", result("c2", "two")) },
			func() { e.answer("5/1", result("c1", "one")) },
			func() { e.answer("4", said("nothing")) },
		} {
			if i < leave {
				step()
			}
		}
		return e
	}
	m := machine.New(cfg)
	for leave := range 6 {
		if leave > 0 && leave < 5 {
			require.NoError(t, m.Apply(machine.Stopped{Now: true}), "which nobody hears of")
		}
		m.Reset(cfg)
		again := play(m, leave)
		fresh := play(machine.New(cfg), leave)
		require.Equal(t, fresh.seen, again.seen)
		require.Equal(t, fresh.m.Output(), again.m.Output())
	}
}

func TestS0_10_emptyToolList(t *testing.T) {
	e := begin(t, only(func() *scene {
		return &scene{Start: func(delegation.Input) nextstep.NextStep { return nextstep.ExecuteTools{} }}
	}))
	require.True(t, e.m.Done())
	require.ErrorContains(t, e.m.Output().Err, "ExecuteTools holds no calls")
	require.Equal(t, delegation.CodeDefect, e.m.Output().Err.Code)
}

func TestS0_13_unknownDelegate(t *testing.T) {
	called := false
	e := begin(t, only(func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "nobody"} },
			Child: func(delegation.Output) nextstep.NextStep { called = true; return done("made up") },
		}
	}))
	require.True(t, e.m.Done())
	require.False(t, called, "the parent is given no made-up result")
	require.ErrorContains(t, e.m.Output().Err, `no strategy "nobody"; known: main`)
	_, ok := errors.AsType[*strategy.UnknownError](e.m.Output().Err)
	require.True(t, ok)
}

func TestMachine_childResultResumesParent(t *testing.T) {
	var heard []delegation.Output
	child := nextstep.Delegate{Strategy: "child", Input: delegation.Input{Goal: "part"}}
	e := begin(t, map[string]func() *scene{
		"main": func() *scene {
			heard = nil
			return &scene{
				Start: func(delegation.Input) nextstep.NextStep { return child },
				Child: func(o delegation.Output) nextstep.NextStep {
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
	x := e.effect("2")
	require.Equal(t, "0.1", x.Frame)
	require.Equal(t, 2, x.Depth)
	e.answer("2", said("A"))
	require.Equal(t, "0.2", e.effect("4").Frame)
	e.answer("4", nextstep.Failure{Code: "auth", Message: "no"})
	require.True(t, e.m.Done(), "a child's failure is a result for its parent")
	require.Equal(t, "A", e.m.Output().Text())
	require.Equal(t, delegation.Code("auth"), heard[1].Err.Code)
	require.Equal(t, messages.History{messages.UserText("part")}, heard[1].Messages)
	require.Equal(t, int64(11), e.m.Output().Usage.Total, "usage sums over the subtree")
}

// The results of a batch are given together, in the order of its calls, in whatever order they
// came.
func TestMachine_callsOfABatch(t *testing.T) {
	e := begin(t, only(caller("a", "b", "c")), offering("a", "b", "c"))
	e.answer("1", calling("a", "b", "c"))
	require.Equal(t, []string{"2/1", "2/2", "2/3"}, e.ids())
	x := e.effect("2/2")
	require.Equal(t, "r/2/2", x.Key())
	require.Equal(t, messages.ToolCall{ID: "c2", Name: "b", Arguments: "{}"}, x.Call)
	e.answer("2/3", result("c3", "C"))
	e.answer("2/1", result("c1", "A"))
	require.False(t, e.m.Done())
	e.answer("2/2", result("c2", "B"))
	require.Equal(t, "A|B|C", e.m.Output().Text())
	require.Equal(t, []string{"0 c3 ok", "0 c1 ok", "0 c2 ok"}, e.finished(), "each is told when it ends")
}

// The ids of effects are read as they are written, and nothing else is.
func TestEffectID(t *testing.T) {
	for text, id := range map[string]machine.EffectID{
		"3": {Seq: 3}, "3/2": {Seq: 3, Index: 2}, "3/2/1": {Seq: 3, Index: 2, Wait: 1}, "3/0/4": {Seq: 3, Wait: 4},
	} {
		require.Equal(t, text, id.String())
		var read machine.EffectID
		require.NoError(t, read.UnmarshalText([]byte(text)))
		require.Equal(t, id, read)
	}
	for _, bad := range []string{"", "x", "3/", "03", "-1", "3/0", "3/2/0", "1/2/3/4", "+3", "3/x"} {
		require.Error(t, new(machine.EffectID).UnmarshalText([]byte(bad)), bad)
	}
}
