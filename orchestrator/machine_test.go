package orchestrator_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

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

// S0-11, S0-12: what does not answer the pending step is an error that names it and changes
// nothing.
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
	refuse((*nextstep.APIResponse)(nil), "answers are values")
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
