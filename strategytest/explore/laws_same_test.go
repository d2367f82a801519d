package explore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategytest/explore"
)

// chosen returns one of two names, in the order of a map. It is seldom the second.
func chosen() (name string) {
	for name = range map[string]bool{"pay": true, "look": true} {
		break
	}
	return name
}

// What a run ends with is decided by the answers, too: its error, and its conversation.
func TestExplore_anEndByTheOrderOfAMap(t *testing.T) {
	for name, end := range map[string]func(p *pupil) nextstep.NextStep{
		"an error": func(p *pupil) nextstep.NextStep {
			return p.fsm.Then("gave up", nextstep.ReportError{Err: errors.New("no more of " + shuffled())})
		},
		"a conversation": func(p *pupil) nextstep.NextStep {
			p.say(messages.AssistantText("I did " + shuffled()))
			return p.fsm.Then("answered", p.done("done"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tw := twist{failure: func(p *pupil, _ nextstep.Failure) nextstep.NextStep { return end(p) }}
			o := school
			o.States = prove.DepthOr(30, o.States)
			require.Equal(t, []string{explore.Same}, explored(t, &tw, o))
		})
	}
}

// The story of a decision that is almost always the same fails all the same, each time.
func TestWalk_theOrderOfAMapEachTime(t *testing.T) {
	tw := asked(func(*pupil) string { return chosen() })
	for range 25 {
		err := explore.Walk(newPupil(&tw), school, []string{"#1 call look", "#2/1 tool ok"}, nil)
		var v *explore.Violation
		require.ErrorAs(t, err, &v)
		require.Equal(t, explore.Same, v.Law)
	}
}

// A run that ends with its first step leaves nothing to try. The report says how it ended, as that
// may be a mistake in the world.
func TestReport_aRunThatEndsAtOnce(t *testing.T) {
	tw := twist{start: func(p *pupil, _ delegation.Input) nextstep.NextStep {
		p.fsm.Then("start", p.request())
		return p.fsm.Then("gave up", nextstep.ReportError{Err: errors.New("no book")})
	}}
	r, err := explore.Run(newPupil(&tw), school)
	require.NoError(t, err)
	require.Equal(t, "0 paths to 1 states, at most 0 reactions long; exhausted; the run ends at once: failed: failed: no book; 0 violations", r.String())
}
