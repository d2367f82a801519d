package bound

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/nextstep"
)

// counted is a state of a search of walks: where it stands, what is left of the budgets, and what
// was used.
type counted struct {
	at                           int
	left                         [3]int64
	started                      int64
	models, calls, steps         int64
	batchesOfItsOwn, delegations int64
}

// bruteForce returns the most of each quantity, by taking every walk. Every step that calls tools
// makes as many calls as it may, or fewer if a limit allows no more.
func bruteForce(p *program) (best [5]int64) {
	seen := map[counted]bool{}
	start := counted{}
	copy(start.left[:], p.budgets)
	for queue := []counted{start}; len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		for q, n := range [...]int64{modelCalls: c.models, toolCalls: c.calls, steps: c.steps, batches: c.batchesOfItsOwn, delegations: c.delegations} {
			best[q] = max(best[q], n)
		}
		for _, e := range p.edges {
			if e.from == c.at {
				for _, next := range p.after(c, e) {
					if !seen[next] {
						seen[next] = true
						queue = append(queue, next)
					}
				}
			}
		}
	}
	return best
}

// after returns what may follow an edge.
func (p *program) after(c counted, e edge) (all []counted) {
	c.at = e.to
	for _, b := range e.uses {
		if c.left[b]--; c.left[b] < 0 {
			return nil
		}
	}
	c.steps++
	switch p.states[e.to].awaits {
	case nextstep.KindGetChatCompletion:
		c.models++
	case nextstep.KindExecuteTools:
		c.batchesOfItsOwn++
	default:
		c.delegations++
	}
	for n := range p.states[e.to].calls + 1 {
		next := c
		next.calls += n
		switch {
		case p.states[e.to].starts:
			next.started += n
		case p.states[e.to].awaits == nextstep.KindDelegate:
			next.started++
		}
		if p.started > 0 && next.started > p.started {
			continue
		}
		if next.models <= p.limits[modelCalls] && next.calls <= p.limits[toolCalls] && next.steps <= p.limits[steps] {
			all = append(all, next)
		}
	}
	return all
}

// drawProgram draws walks through a table: edges without a budget lead to later states only, which
// is what the check of a table for cycles makes sure of, up to the names of the states.
func drawProgram(t *rapid.T) *program {
	p := &program{walks: &walks{states: []waiting{{}}, started: rapid.Int64Range(0, 4).Draw(t, "started")}, limits: noLimits}
	for range 3 {
		p.budgets = append(p.budgets, rapid.Int64Range(0, 3).Draw(t, "budget"))
	}
	kinds := []nextstep.Kind{nextstep.KindGetChatCompletion, nextstep.KindExecuteTools, nextstep.KindDelegate}
	n := rapid.IntRange(1, 5).Draw(t, "states")
	for range n {
		w := waiting{awaits: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if w.awaits == nextstep.KindExecuteTools {
			w.calls, w.starts = rapid.Int64Range(0, 2).Draw(t, "calls"), rapid.Bool().Draw(t, "starts")
		}
		p.states = append(p.states, w)
	}
	for range rapid.IntRange(1, 10).Draw(t, "edges") {
		e := edge{from: rapid.IntRange(0, n).Draw(t, "from"), to: rapid.IntRange(1, n).Draw(t, "to")}
		for b := range p.budgets {
			if rapid.IntRange(0, 2).Draw(t, "uses") == 0 {
				e.uses = append(e.uses, b)
			}
		}
		if len(e.uses) == 0 && e.from >= e.to {
			e.uses = []int{0}
		}
		p.edges = append(p.edges, e)
	}
	for q := range p.limits {
		if rapid.Bool().Draw(t, "limited") {
			p.limits[q] = rapid.Int64Range(0, 5).Draw(t, "limit")
		}
	}
	return p
}

// The integer program of a table and taking every walk through it find the same, caps shared by
// rules, self-loops, cycles over several states, parts that hang off a cap, and limits included.
func TestProgram_isTheLongestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		want := bruteForce(p)
		p.prune()
		for q := range quantity(len(want)) {
			require.Equal(t, want[q], p.largest(q), "quantity %d", q)
		}
	})
}

// A table that is too hard gets a bound that is too wide, and never one that is too close.
func TestProgram_givesUpAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		want := bruteForce(p)
		s := &search{program: p, aim: p.goal(steps), nodes: maxNodes - rapid.IntRange(0, 2).Draw(t, "nodes")}
		s.look(p.rows())
		require.GreaterOrEqual(t, max(s.best, s.above), want[steps])
	})
}

// A cycle that no edge leads to, because what leads there is used up on the way, counts for
// nothing.
func TestProgram_leavesIslandsOut(t *testing.T) {
	chat := waiting{awaits: nextstep.KindGetChatCompletion}
	p := &program{limits: noLimits, walks: &walks{
		states:  []waiting{{}, chat, chat, chat},
		budgets: []int64{1, most},
		edges: []edge{
			{0, 1, nil}, {1, 2, []int{0}}, {2, 3, []int{0}}, // the second needs the budget that the first took
			{3, 3, []int{1}},
		},
	}}
	require.EqualValues(t, 2, p.largest(modelCalls))
	p.budgets[0] = 2
	require.Equal(t, most, p.largest(modelCalls))
}
