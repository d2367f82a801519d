package bound_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/retry"
)

// handing asks a model so often, and may hand off to each of these.
func handing(calls int, to ...string) func() strategy.Strategy {
	cfg := completetask.Config{MaxModelCalls: calls, MaxRetries: -1, OnLimit: completetask.LimitFail}
	for _, name := range to {
		cfg.Handoffs = append(cfg.Handoffs, completetask.Handoff{Strategy: name})
	}
	return completetask.New(cfg)
}

// chain is a world of strategies that hand off, of which "main" is the first.
func chain(limits delegation.Limits, set strategy.Set) *world {
	limits.ToolCalls = 40
	return &world{cfg: machine.Config{Strategies: set, Tools: reader}, limits: limits}
}

// A run uses what its first strategy uses, and what comes after it: each successor once or, in a
// circle, as often as the limit on handoffs allows. Where all need the same, a run reaches the
// bound of model calls. A handoff comes in the place of a last batch of calls, and the bound of
// steps counts both.
func TestOf_handoffs(t *testing.T) {
	tables := []bound.Reason{{}}
	by := func(limit string) []bound.Reason { return []bound.Reason{{Limit: limit}} }
	both := []bound.Reason{{}, {Limit: "handoffs"}}
	for name, test := range map[string]struct {
		w                    *world
		models, steps, depth int64
		by                   []bound.Reason
		reached              [2]int // model calls and steps
	}{
		"one successor":         {chain(delegation.Limits{}, strategy.Set{"main": handing(1, "next"), "next": handing(1)}), 2, 5, 1, tables, [2]int{2, 4}},
		"one of two successors": {chain(delegation.Limits{}, strategy.Set{"main": handing(1, "a", "b"), "a": handing(1), "b": handing(1)}), 3, 8, 1, tables, [2]int{2, 4}},
		"one after the other":   {chain(delegation.Limits{}, strategy.Set{"main": handing(1, "a"), "a": handing(1, "b"), "b": handing(1)}), 3, 8, 1, tables, [2]int{3, 6}},
		"a circle":              {chain(delegation.Limits{Handoffs: 2}, strategy.Set{"main": handing(1, "main")}), 3, 8, 1, both, [2]int{3, 6}},
		"a circle of two":       {chain(delegation.Limits{Handoffs: 3}, strategy.Set{"main": handing(1, "a"), "a": handing(1, "main")}), 4, 11, 1, both, [2]int{4, 8}},
		"a circle, few calls":   {chain(delegation.Limits{Handoffs: 3, ModelCalls: 2}, strategy.Set{"main": handing(1, "main")}), 2, 11, 1, by("model_calls"), [2]int{2, 4}},
		"a circle, few steps":   {chain(delegation.Limits{Handoffs: 3, Steps: 3}, strategy.Set{"main": handing(1, "main")}), 3, 3, 1, by("steps"), [2]int{2, 3}},
		"fewer than there are":  {chain(delegation.Limits{Handoffs: 1}, strategy.Set{"main": handing(1, "a"), "a": handing(1, "b"), "b": handing(1)}), 2, 5, 1, both, [2]int{2, 4}},
		"a child that hands off": {chain(delegation.Limits{}, strategy.Set{
			"main": retry.New(retry.Config{Strategy: "first", MaxRetries: -1}), "first": handing(1, "next"), "next": handing(1),
		}), 2, 6, 2, tables, [2]int{2, 5}},
		"a successor with a child": {chain(delegation.Limits{}, strategy.Set{
			"main": handing(1, "again"), "again": retry.New(retry.Config{Strategy: "next", MaxRetries: -1}), "next": handing(1),
		}), 2, 6, 2, tables, [2]int{2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			b, l := of(t, &test.w.cfg, test.w.limits), test.w.explore(t)
			t.Log(b.ModelCalls, b.Steps, b.Depth, l.Counts, l.depth)
			require.Equal(t, bound.Amount{Most: test.models, By: test.by}, b.ModelCalls)
			require.Equal(t, []int64{test.steps, test.depth}, []int64{b.Steps.Most, b.Depth.Most})
			require.Equal(t, test.reached[0], l.ModelCalls)
			require.Equal(t, test.reached[1], l.Steps)
			require.EqualValues(t, test.depth, l.depth)
		})
	}
}

// Nothing but a limit bounds a circle.
func TestOf_handoffsWithoutLimit(t *testing.T) {
	w := chain(delegation.Limits{}, strategy.Set{"main": handing(2, "next"), "next": handing(1, "main")})
	none := off
	none.Handoffs = -1
	require.Equal(t, bound.Amount{Most: bound.Unbounded}, of(t, &w.cfg, none).ModelCalls)
	none.ModelCalls = 9
	require.Equal(t, bound.Amount{Most: 9, By: []bound.Reason{{Limit: "model_calls"}}}, of(t, &w.cfg, none).ModelCalls)
	require.EqualValues(t, 17*2, of(t, &w.cfg, off).ModelCalls.Most, "16 handoffs are allowed where nobody says otherwise")

	ends := chain(delegation.Limits{}, strategy.Set{"main": handing(1, "next"), "next": handing(1)})
	require.Equal(t, bound.Amount{Most: 2, By: []bound.Reason{{}}}, of(t, &ends.cfg, delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1, Handoffs: -1}).ModelCalls)
}

// A successor that there is not counts for nothing: no handoff to it is made. The frames of those
// that there are are listed.
func TestOf_handoffsToNobody(t *testing.T) {
	w := chain(delegation.Limits{}, strategy.Set{"main": handing(1, "nobody", "next"), "next": handing(1)})
	b := of(t, &w.cfg, w.limits)
	require.EqualValues(t, 3, b.ModelCalls.Most)
	var names []string
	for _, f := range b.Frames {
		names = append(names, f.Strategy)
	}
	require.Equal(t, []string{"main", "next"}, names)
}
