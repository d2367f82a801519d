package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/explore"
)

// handing is a pupil that hands over to the strategy "next", where others answer.
type handing struct {
	*pupil
	asked func(*pupil) // is called when it is asked for its successors; nil: nothing is
}

// Names implements strategy.Namer.
func (h handing) Names() strategy.Names {
	if h.asked != nil {
		h.asked(h.pupil)
	}
	return strategy.Names{Handoffs: []string{"next"}}
}

// hands returns a twist that makes pupils hand over, with a step of their own for replies; nil: the
// sound one.
func hands(own func(*pupil, llmclient.Response) nextstep.NextStep, asked func(*pupil)) twist {
	if own == nil {
		own = func(p *pupil, r llmclient.Response) nextstep.NextStep {
			if len(r.Message.Calls()) > 0 {
				return p.replied(r)
			}
			p.say(messages.AssistantText("I hand over: " + r.Message.Text()))
			return p.handOver(p.History.Clip())
		}
	}
	return twist{reply: own, factory: func(sound func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy { return handing{sound().(*pupil), asked} }
	}}
}

// handOver hands a conversation over.
func (p *pupil) handOver(h messages.History) nextstep.NextStep {
	return p.fsm.Then("answered", nextstep.Complete{
		Output:  delegation.Output{Result: new("handed over")},
		Handoff: &nextstep.Handoff{Strategy: "next", Input: delegation.Input{Messages: h}},
	})
}

// next adds the strategy that is handed over to.
func next(factory func() strategy.Strategy) func(*explore.Options) {
	return func(o *explore.Options) { o.Strategies = strategy.Set{"next": factory} }
}

// aloof is a pupil that begins anew, whatever it is given.
func aloof() func() strategy.Strategy {
	return newPupil(&twist{start: func(p *pupil, _ delegation.Input) nextstep.NextStep {
		p.History = messages.History{messages.UserText("go on")}
		return p.fsm.Then("start", p.request())
	}})
}

// listening is a pupil that listens.
type listening struct{ *pupil }

// Hear implements strategy.Listener.
func (l listening) Hear(note string) { l.Heard += note }

// listens returns a factory of listening pupils.
func listens() func() strategy.Strategy {
	return newPupil(&twist{factory: func(sound func() strategy.Strategy) func() strategy.Strategy {
		return func() strategy.Strategy { return listening{sound().(*pupil)} }
	}})
}

// noted adds two notes to a world.
func noted(change func(*explore.Options)) func(*explore.Options) {
	return func(o *explore.Options) {
		change(o)
		without := o.Without
		o.Notes = 2
		o.Without = func(e *machine.Effect, reaction string) bool { return reaction != "note" && without(e, reaction) }
	}
}

var brokenHandoffs = []broken{
	{name: "hands over a call that is open", law: explore.Handed, twist: hands(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		p.say(r.Message)
		return p.handOver(p.History.Clip())
	}, nil), world: next(aloof())},
	{name: "changes what it hands over when it is asked for its successors", law: explore.Handed, twist: hands(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if len(r.Message.Calls()) > 0 {
			return p.replied(r)
		}
		chosen := messages.History{messages.UserText("go on with this")}
		p.kept = chosen
		return p.handOver(chosen)
	}, func(p *pupil) {
		if chosen, ok := p.kept.(messages.History); ok {
			chosen[0] = messages.UserText("go on with that")
		}
	}), world: next(newPupil(&twist{}))},
	{name: "a Machine that puts a successor on top of its predecessor", law: explore.Place, twist: hands(nil, nil), world: func(o *explore.Options) {
		next(newPupil(&twist{}))(o)
		haunted(func(_ *machine.Machine, r *machine.Ready) {
			r.Events = slices.Clone(r.Events)
			for i := range r.Events {
				if d, ok := r.Events[i].Detail.(machine.FrameEntered); ok && d.After != "" {
					r.Events[i].Depth++
				}
			}
		})(o)
	}},
	{name: "a Machine that gives notes in another order", law: explore.Notes, twist: twist{factory: func(func() strategy.Strategy) func() strategy.Strategy { return listens() }}, world: noted(haunted(func(_ *machine.Machine, r *machine.Ready) {
		heard := slices.DeleteFunc(slices.Clone(r.Events), func(e machine.Event) bool { return e.Kind != machine.EventNoteHeard })
		r.Events = slices.Clone(r.Events)
		for i, last := 0, len(heard)-1; i < len(r.Events); i++ {
			if r.Events[i].Kind == machine.EventNoteHeard {
				r.Events[i].Detail = heard[last].Detail
				last--
			}
		}
	}))},
}

// Sound strategies that hand over break no law: to a strategy with another table or more left of a
// cap, to one that fails at once or that listens, after a failure, and in a circle that a limit
// ends.
func TestHandoffs_sound(t *testing.T) {
	giving := newPupil(&twist{start: func(p *pupil, _ delegation.Input) nextstep.NextStep {
		p.fsm.Then("start", nextstep.GetChatCompletion{})
		return p.giveUp("not for me")
	}})
	failing := hands(nil, nil)
	failing.failure = func(p *pupil, _ nextstep.Failure) nextstep.NextStep {
		step := p.handOver(p.History.Clip()).(nextstep.Complete)
		step.Output = delegation.Output{}
		return step
	}
	circle := hands(nil, nil)
	for name, test := range map[string]struct {
		twist twist
		world func(*explore.Options)
	}{
		"another table": {hands(nil, nil), next(completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: 1}))},
		"larger caps":   {hands(nil, nil), next(newPupil(&twist{factory: capped(strategy.Caps{"retries": 3, "rounds": 5, "children": 4}, &twist{})}))},
		"fails at once": {hands(nil, nil), next(giving)},
		"on a failure":  {failing, next(newPupil(&twist{}))},
		"who listens":   {hands(nil, nil), noted(next(listens()))},
		"circle": {circle, func(o *explore.Options) {
			next(newPupil(&circle))(o)
			o.Limits.Handoffs = 2
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := broken{world: test.world}
			o := b.options()
			o.Depth, o.States = 5, prove.DepthOr(8, 150)
			require.Empty(t, explored(t, &test.twist, o))
		})
	}
}

// The limit on handoffs is held like the others.
func TestDefects_handoffs(t *testing.T) {
	circle := hands(nil, nil)
	sound(t, &circle, func(o *explore.Options) {
		next(newPupil(&circle))(o)
		o.Limits.Handoffs = 1
	})
}
