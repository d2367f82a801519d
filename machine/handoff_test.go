package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// handing is a scene that hands off.
type handing struct {
	*scene
	names []string
}

func (h *handing) Names() strategy.Names { return strategy.Names{Handoffs: h.names} }

// to hands off to a strategy, once a model has answered.
func to(name string, tools ...string) func() strategy.Strategy {
	return func() strategy.Strategy {
		return &handing{names: []string{name}, scene: &scene{Reply: func(r llmclient.Response) nextstep.NextStep {
			return nextstep.Complete{Handoff: &nextstep.Handoff{Strategy: name, Input: delegation.Input{Goal: "go on: " + r.Message.Text()}, Tools: tools}}
		}}}
	}
}

func plainly(s func() *scene) func() strategy.Strategy {
	return func() strategy.Strategy { return s() }
}

// The successor has the place, the limits and the usage of its predecessor, and its output ends the
// run. The stack does not grow.
func TestHandOff_root(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": to("next"), "next": listening(thrice)})
	e.answer("1", said("x"))
	frames := e.m.Frames()
	require.Len(t, frames, 1)
	require.Equal(t, "0", frames[0].Name)
	require.Equal(t, 1, frames[0].Depth)
	require.Equal(t, "next", frames[0].Strategy)
	require.Equal(t, delegation.Counts{Steps: 3, ModelCalls: 2, Handoffs: 1}, frames[0].Used)
	left := e.events(machine.EventFrameLeft)[0].Detail.(machine.FrameLeft)
	require.Equal(t, "next", left.Handoff)
	entered := e.events(machine.EventFrameEntered)[1]
	require.Equal(t, "main", entered.Detail.(machine.FrameEntered).After)
	require.Equal(t, "go on: x", entered.Detail.(machine.FrameEntered).Goal)
	e.say("heard by the successor")
	for _, id := range []string{"3", "4", "5"} {
		e.answer(id, said("y"))
	}
	require.Equal(t, machine.StatusDone, e.m.Status())
	require.Equal(t, "heard by the successor", e.m.Output().Text())
	require.Equal(t, delegation.Counts{Steps: 5, ModelCalls: 4, Handoffs: 1}, e.m.Output().Counts)
	e.replays(through)
}

// The output of a successor goes where that of its predecessor would have gone: to the parent, or
// into the result of a call.
func TestHandOff_childAndBranch(t *testing.T) {
	parent := func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "first"} },
			Child: func(out delegation.Output) nextstep.NextStep { return done("child: " + out.Text()) },
		}
	}
	e := beginListening(t, strategy.Set{"main": plainly(parent), "first": to("next"), "next": plainly(hungry())})
	e.answer("2", said("x"))
	require.Equal(t, "0.1", e.m.Frames()[1].Name)
	require.Equal(t, "next", e.m.Frames()[1].Strategy)
	e.answer("4", said("y"))
	require.Equal(t, "child: y", e.m.Output().Text())
	e.replays(through)

	e = beginListening(t, strategy.Set{"main": plainly(caller("agent1")), "first": to("next"), "next": plainly(hungry())}, agent("agent1", "first"))
	e.answer("1", calling("agent1"))
	for len(e.open) > 0 {
		e.answer(e.open[0].ID.String(), said("z"))
	}
	require.Equal(t, "z", e.m.Output().Text())
	require.Equal(t, 1, e.m.Output().Counts.Handoffs)
	e.replays(through)
}

// A circle ends with the limit, also if nobody is asked, and is no success.
func TestHandOff_circle(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": to("main")}, limited(delegation.Limits{Handoffs: 2}))
	for len(e.open) > 0 {
		e.answer(e.open[0].ID.String(), said("x"))
	}
	require.Equal(t, machine.StatusLimit, e.m.Status())
	require.EqualValues(t, 2, limitOf(t, e.m.Output().Err, "handoffs").Max)
	e.replays(through)

	idle := func() strategy.Strategy {
		return &handing{names: []string{"main"}, scene: &scene{Start: func(in delegation.Input) nextstep.NextStep {
			return nextstep.Complete{Handoff: &nextstep.Handoff{Strategy: "main", Input: in}}
		}}}
	}
	e = beginListening(t, strategy.Set{"main": idle})
	require.EqualValues(t, 16, limitOf(t, e.m.Output().Err, "handoffs").Max)
	e = beginListening(t, strategy.Set{"main": idle}, limited(delegation.Limits{Handoffs: -1, Steps: -1}))
	require.Equal(t, machine.StatusLimit, e.m.Status())
}

// A successor that is unknown, or that the strategy has not named, fails the frame.
func TestHandOff_unknown(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": to("nobody")})
	e.answer("1", said("x"))
	require.Equal(t, delegation.CodeInvalid, e.m.Output().Err.Code)
	require.ErrorAs(t, e.m.Output().Err, new(*strategy.UnknownError))
	require.ErrorAs(t, e.m.Output().Err, new(*machine.StrategyError))
	e.replays(through)

	unnamed := func() strategy.Strategy {
		s := to("next")().(*handing)
		s.names = []string{"another"}
		return s
	}
	e = beginListening(t, strategy.Set{"main": unnamed, "next": plainly(hungry())})
	e.answer("1", said("x"))
	require.ErrorContains(t, e.m.Output().Err, `"next" is not among its Handoffs, which are ["another"]`)
}

// A run that must end begins no successor, and a successor may use only the tools that it is given.
func TestHandOff_stopAndTools(t *testing.T) {
	e := beginListening(t, strategy.Set{"main": to("next"), "next": plainly(hungry("a"))})
	e.stop(machine.Stopped{})
	e.answer("1", said("x"))
	require.Equal(t, machine.StatusStopped, e.m.Status())
	require.Len(t, e.events(machine.EventFrameEntered), 1)

	set := strategy.Set{"main": to("next", "b"), "next": plainly(caller("a", "b"))}
	e = beginListening(t, set, tool(tools.Definition{Name: "a", ReadOnly: true}), tool(tools.Definition{Name: "b", ReadOnly: true}))
	e.answer("1", said("x"))
	e.answer("3", calling("a"))
	require.Contains(t, e.m.Output().Text(), `there is no tool "a" here`)
	e.replays(through)
}

// A successor that waits goes on from a snapshot, with its tools.
func TestHandOff_snapshot(t *testing.T) {
	first := func() strategy.Strategy {
		c := newClerk(clerks("acting"))().(*clerk)
		return &handingClerk{clerk: c}
	}
	set := strategy.Set{"main": first, "next": newClerk(clerks("acting"))}
	e := beginListening(t, set, tool(tools.Definition{Name: "guarded", NeedsApproval: true}), tool(tools.Definition{Name: "other"}))
	e.answer("1", said("x"))
	e.answer("3", calling("guarded"))
	s, err := e.m.Snapshot()
	require.NoError(t, err)
	require.Equal(t, "next", s.Frames[0].Strategy)
	require.Equal(t, "main", s.Frames[0].After)
	require.Equal(t, []string{"guarded"}, s.Frames[0].Tools)
	m := machine.New(e.cfg)
	require.NoError(t, m.Apply(machine.Migrated{At: e.now, Snapshot: s}))
	again, err := m.Snapshot()
	require.NoError(t, err)
	require.Equal(t, s.Frames, again.Frames)
}

// handingClerk hands off instead of calling.
type handingClerk struct{ *clerk }

func (c *handingClerk) Names() strategy.Names { return strategy.Names{Handoffs: []string{"next"}} }

func (c *handingClerk) ProcessAPIResponse(llmclient.Response) nextstep.NextStep {
	return nextstep.Complete{Handoff: &nextstep.Handoff{Strategy: "next", Input: delegation.Input{Messages: messages.History{messages.UserText("go")}}, Tools: []string{"guarded"}}}
}
