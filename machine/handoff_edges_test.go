package machine_test

import (
	"fmt"
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

// mute is a strategy that panics when it is asked for its successors.
type mute struct{ *scene }

func (*mute) Names() strategy.Names { panic("no names") }

// A strategy that cannot name its successors fails its frame, and not the Machine.
func TestHandOff_successorsPanics(t *testing.T) {
	e := beginListening(t, strategy.Set{
		"main": func() strategy.Strategy { return &mute{to("next")().(*handing).scene} },
		"next": plainly(hungry()),
	})
	e.answer("1", said("x"))
	require.Equal(t, delegation.CodePanic, e.m.Output().Err.Code)
	require.ErrorContains(t, e.m.Output().Err, "Names")
}

// handingLater is a clerk that hands off once it has the results of its calls.
type handingLater struct{ *clerk }

func (*handingLater) Names() strategy.Names {
	return strategy.Names{Handoffs: []string{"next"}}
}

func (c *handingLater) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	return c.fsm.Then("end", nextstep.Complete{Handoff: &nextstep.Handoff{Strategy: "next", Input: delegation.Input{Goal: texts(r)}}})
}

// A run that goes on from a snapshot gives a successor the notes that it would have had without.
func TestHandOff_notesOfASnapshot(t *testing.T) {
	set := strategy.Set{
		"main":   func() strategy.Strategy { return &handingLater{newClerk(clerks("acting"))().(*clerk)} },
		"worker": func() strategy.Strategy { return &remembering{clerk: newClerk(clerks("acting"))().(*clerk)} },
		"next":   listening(thrice),
	}
	e := beginListening(t, set, agent("agent1", "worker"), tool(tools.Definition{Name: "guarded", NeedsApproval: true}))
	e.answer("1", calling("agent1"))
	e.say("heard by the agent alone")
	e.answer("3", calling("guarded"))
	require.Equal(t, []string{"0.1:1"}, e.toldOf(machine.EventNoteHeard))
	require.Equal(t, machine.StatusWaiting, e.m.Status())
	s, err := e.m.Snapshot()
	require.NoError(t, err)
	restored := machine.New(e.cfg)
	require.NoError(t, restored.Apply(machine.Migrated{At: e.now, Snapshot: s}))

	outputs := []string{}
	for _, m := range []*machine.Machine{e.m, restored} {
		require.NoError(t, m.Apply(machine.Replied{At: e.tick(), Reply: machine.Reply{WaitID: m.Waits()[0].ID}}))
		for range 3 {
			effects := m.Ready().Effects
			require.Len(t, effects, 1)
			m.Advance()
			require.NoError(t, m.Apply(effects[0].Answered(said("x"), e.tick(), 0)))
		}
		require.Equal(t, machine.StatusDone, m.Status())
		outputs = append(outputs, m.Output().Text())
	}
	require.Equal(t, "heard by the agent alone", outputs[0])
	require.Equal(t, outputs[0], outputs[1])
}

// A remote is given the handoffs that are left. Zero would be the default there, so that it is
// given one if none is left. What was left is reserved, and charged if the remote reports nothing.
func TestHandOff_leftToARemote(t *testing.T) {
	far := func() *scene {
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "far"} },
			Child: func(out delegation.Output) nextstep.NextStep { return done(out.Text()) },
		}
	}
	remote := func(c *machine.Config) { c.Remote = []string{"far"} }
	e := beginListening(t, strategy.Set{"main": to("next"), "next": plainly(far)}, limited(delegation.Limits{Handoffs: 1}), remote)
	e.answer("1", said("x"))
	require.Equal(t, 1, e.open[0].Step.(nextstep.Delegate).Limits.Handoffs)

	e = beginListening(t, strategy.Set{"main": plainly(far)}, limited(delegation.Limits{Handoffs: 3}), remote)
	require.Equal(t, 3, e.open[0].Step.(nextstep.Delegate).Limits.Handoffs)
	e.answer("1", nextstep.DelegationResult{})
	require.Equal(t, 3, e.m.Output().Counts.Handoffs)
	e.replays(through)
	used := delegation.Output{Counts: delegation.Counts{Steps: 1, Handoffs: 1}}
	e = beginListening(t, strategy.Set{"main": plainly(far)}, limited(delegation.Limits{Handoffs: 3}), remote)
	e.answer("1", nextstep.DelegationResult{Output: used})
	require.Equal(t, 1, e.m.Output().Counts.Handoffs)
}

// branching begins a run in which the main strategy calls an agent, which hands off, and a tool
// that waits for a person.
func branching(t *testing.T, limits delegation.Limits) *engine {
	t.Helper()
	e := beginListening(t, strategy.Set{"main": plainly(caller("agent1", "guarded")), "first": to("next"), "next": plainly(hungry())},
		agent("agent1", "first", func(a *machine.Agent) { a.Limits = limits }), tool(tools.Definition{Name: "guarded", NeedsApproval: true}))
	e.answer("1", calling("agent1", "guarded"))
	return e
}

// A handoff in a branch does not disturb a sibling that waits, and survives a crash after each
// record.
func TestHandOff_besideAWait(t *testing.T) {
	for lost := range 4 {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			e := branching(t, delegation.Limits{})
			before := len(e.m.Waits())
			e.answer("3", said("x"))
			require.Len(t, e.m.Waits(), before)
			require.Len(t, e.m.Frames(), 2)
			require.Equal(t, "first", e.events(machine.EventFrameEntered)[2].Detail.(machine.FrameEntered).After)
			if lost > 0 {
				e.crash(lost - 1)
				e.resume(machine.Resumed{})
			}
			for range 10 {
				if len(e.open) == 0 {
					break
				}
				x := e.open[0]
				switch {
				case x.Kind == machine.EffectPerson:
					e.reply(x.ID.String(), machine.Reply{})
				case x.Kind == machine.EffectTool:
					e.answer(x.ID.String(), result(x.Call.ID, "paid"))
				case x.ID.String() == "1":
					e.answer("1", calling("agent1", "guarded"))
				default:
					e.answer(x.ID.String(), said("y"))
				}
			}
			require.Equal(t, machine.StatusDone, e.m.Status())
			require.Equal(t, 1, e.m.Output().Counts.Handoffs)
			require.Contains(t, e.m.Output().Text(), "y")
			e.replays(through)
		})
	}
}

// A stop right before and right after a handoff in a branch ends everything once, with the usage of
// both strategies.
func TestHandOff_stopAround(t *testing.T) {
	for _, now := range []bool{false, true} {
		for handoffs := range 2 {
			t.Run(fmt.Sprintf("now %t, after %d handoffs", now, handoffs), func(t *testing.T) {
				e := branching(t, delegation.Limits{})
				if handoffs > 0 {
					e.answer("3", said("x"))
				}
				e.stop(machine.Stopped{Now: now})
				for len(e.open) > 0 {
					e.answer(e.open[0].ID.String(), said("late"))
				}
				require.Equal(t, machine.StatusStopped, e.m.Status())
				require.Equal(t, handoffs, e.m.Output().Counts.Handoffs)
				require.Equal(t, 2+handoffs, e.m.Output().Counts.ModelCalls)
				e.replays(through)
			})
		}
	}
}

// The limits that a parent gave to a frame hold for its successor, together with what is used.
func TestHandOff_limitsOfTheBranch(t *testing.T) {
	for limit, limits := range map[string]delegation.Limits{
		"model_calls": {ModelCalls: 1}, "steps": {Steps: 1}, "total_tokens": {TotalTokens: 1},
	} {
		t.Run(limit, func(t *testing.T) {
			e := branching(t, limits)
			e.answer("3", said("x"))
			left := e.events(machine.EventFrameLeft)
			err := left[len(left)-1].Detail.(machine.FrameLeft).Err
			require.Equal(t, delegation.CodeLimit, err.Code)
			require.ErrorContains(t, err, limit)
			e.replays(through)
		})
	}
}

// A successor that is given untrusted text is marked, and so is its output.
func TestHandOff_taint(t *testing.T) {
	page := messages.User{Content: []messages.UserContent{messages.Text{Text: "from a page"}}, Untrusted: true}
	first := func() strategy.Strategy {
		return &handing{names: []string{"next"}, scene: &scene{Reply: func(llmclient.Response) nextstep.NextStep {
			return nextstep.Complete{Handoff: &nextstep.Handoff{Strategy: "next", Input: delegation.Input{Messages: messages.History{page}}}}
		}}}
	}
	e := beginListening(t, strategy.Set{"main": first, "next": plainly(hungry())})
	e.answer("1", said("x"))
	e.answer("3", said("y"))
	require.True(t, e.m.Output().Untrusted)
	e.replays(through)
}
