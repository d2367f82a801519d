package refund

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

func TestRefund_laws(t *testing.T) {
	strategytest.Explore(t, New(), explore.Options{
		Name: "refund", Tools: []tools.Definition{{Name: "pay"}}, Unreached: []string{"*"},
	})
}

// world is where the strategy is explored.
var world = explore.Options{
	Name:  "refund",
	Input: delegation.Input{Goal: "My kettle leaks."},
	Tools: []tools.Definition{{Name: "pay"}},
	World: amounts,
}

// amounts lets the model answer as it is told to, besides everything that any model may do.
func amounts(e *machine.Effect) []explore.Reaction {
	if e.Kind != machine.EffectModel {
		return nil
	}
	return []explore.Reaction{
		explore.Reply("names an amount", llmclient.FinishStop, messages.Text{Text: `{"euros":12}`}),
		explore.Reply("names a debt", llmclient.FinishStop, messages.Text{Text: `{"euros":-12}`}).AsOdd(),
	}
}

func TestRefund_coverage(t *testing.T) {
	c := coverage.New(strategy.Set{explore.Subject: New()})
	o := world
	o.See = func(s *explore.State) {
		for _, e := range s.Events() {
			c.Add(e)
		}
	}
	strategytest.Explore(t, New(), o)
	strategytest.RequireCoverage(t, c, 1, Table)
}

// paysAgain holds while a payment is made although the one before may have been made.
func paysAgain(s *explore.State) bool {
	if !explore.Calls("pay")(s) {
		return false
	}
	history := s.Strategy("0").(*refund).History // it ends with the call
	before, ok := history[len(history)-2].(messages.Tool)
	return ok && before.Status != messages.StatusFailed
}

func TestRefund_paysOnce(t *testing.T) {
	strategytest.Never(t, New(), world, paysAgain)
}

func TestRefund_tells(t *testing.T) {
	strategytest.CanReach(t, New(), world, explore.Done)
	strategytest.Leads(t, New(), world, explore.Calls("pay"),
		explore.Any(explore.InState("refund", Telling), explore.Failed, explore.Stopped))
}

func TestRefund_deeper(t *testing.T) {
	o := world
	o.Odd, o.States = 3, 1_000_000
	strategytest.Explore(t, New(), o)
}

func TestRefund_bound(t *testing.T) {
	cfg := machine.Config{Strategies: strategy.Set{"refund": New()}, Tools: world.Tools}
	b, err := bound.Of(&cfg, machine.Started{Strategy: "refund"}, bound.Options{})
	require.NoError(t, err)
	require.Equal(t, int64(3), b.ModelCalls.Most) // two questions and a letter
	require.Equal(t, int64(3), b.ToolCalls.Most)
}

func TestStories(t *testing.T) {
	strategytest.Stories(t, "testdata/stories", strategy.Set{"refund": New()})
}
