package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// broken is a strategy that breaks one law.
type broken struct {
	name string // what is broken, for people
	law  string
	twist
	world func(*explore.Options) // what the world has besides; nil: nothing
}

// options returns the world of a broken strategy.
func (b *broken) options() explore.Options {
	o := school
	o.Tools = slices.Clone(o.Tools)
	if b.world != nil {
		b.world(&o)
	}
	return o
}

// school is the world of pupils. It is small: each way to break a law shows in it.
var school = explore.Options{
	Tools:    []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "pay", NeedsApproval: true}},
	Children: []string{"child"}, States: 70, Depth: 6,
	Without: func(_ *machine.Effect, reaction string) bool { return !slices.Contains(lively, reaction) },
}

// lively are the reactions in the world of pupils.
var lively = []string{
	"text", "good JSON", "call look", "call pay", "two calls look", "failure unavailable",
	"tool ok", "tool failed", "says yes", "says yes to other arguments", "child result", "child failed", "stop", "crash", "not begun",
}

// explored returns the names of the laws that a strategy breaks.
func explored(t *testing.T, twist *twist, o explore.Options) (laws []string) {
	t.Helper()
	r, err := explore.Run(newPupil(twist), o)
	require.NoError(t, err)
	for i := range r.Violations {
		t.Log(r.Violations[i].Error())
		laws = append(laws, r.Violations[i].Law)
	}
	t.Log(r)
	return laws
}

// A strategy that breaks one law is caught by that law, and by no other: without it, nothing is
// found, which is looked for in make prove. The strategy without the twist breaks none. Every test
// run takes the first strategy that breaks a law, and few states; make prove all of them, and more.
func TestBroken(t *testing.T) {
	o := school
	o.States = prove.DepthOr(30, o.States)
	require.Empty(t, explored(t, &twist{}, o))
	caught := map[string]bool{}
	for _, b := range allBroken() {
		if caught[b.law] && prove.DepthOr(0, 1) == 0 {
			continue
		}
		caught[b.law] = true
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			o := b.options()
			o.States = min(o.States, prove.DepthOr(30, o.States))
			require.Equal(t, []string{b.law}, explored(t, &b.twist, o))
			if prove.DepthOr(0, 1) > 0 {
				require.Empty(t, explored(t, &b.twist, o.WithoutLaw(b.law)))
			}
		})
	}
}

// allBroken returns the broken strategies in the order of the page.
func allBroken() []broken {
	return slices.Concat(brokenProtocol, brokenConversations, brokenTables, brokenAbilities, brokenMemories, brokenPurity, brokenMachines, brokenHandoffs)
}
