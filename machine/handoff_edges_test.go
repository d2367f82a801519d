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
