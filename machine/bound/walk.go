package bound

import (
	"slices"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// most stands for no bound. Sums and products of amounts stay at it.
const most int64 = 1 << 40

// walks are the walks through a table that a frame may take: from the first state along edges, each
// of which uses up some of the budgets. A walk may end anywhere, since any run may end at a limit.
type walks struct {
	states  []waiting // the initial state first; without the final ones
	edges   []edge
	budgets []int64
	started int64 // most delegations, and calls in states that start agents, together; 0: any number
}

// waiting is a state, with the kind that it awaits and the most calls of one step.
type waiting struct {
	awaits nextstep.Kind
	calls  int64
	starts bool // its calls are of agents that the strategy brings, and of nothing else
}

// edge is a move. It uses one of each of its budgets.
type edge struct {
	from, to int
	uses     []int
}

// walksOf returns the walks through the table of a fresh strategy. canCall says that its frame has
// tools to call; calls of others are not counted.
func walksOf(fsm *strategy.FSM, said strategy.Bounds, canCall bool) *walks {
	table := fsm.Table()
	w := &walks{started: int64(said.Starts)}
	number := map[strategy.State]int{}
	add := func(s strategy.StateRule) {
		number[s.Name] = len(w.states)
		calls := most
		if n, ok := said.Calls[s.Name]; ok {
			calls = int64(max(0, n))
		}
		if !canCall || s.Awaits != nextstep.KindExecuteTools {
			calls = 0
		}
		w.states = append(w.states, waiting{s.Awaits, calls, slices.Contains(said.AgentStates, s.Name)})
	}
	for _, s := range table.States {
		if s.Name == table.Initial {
			add(s)
		}
	}
	for _, s := range table.States {
		if s.Name != table.Initial && !s.Awaits.Final() {
			add(s)
		}
	}
	left := fsm.Position().Left
	budget := map[string]int{}
	for _, r := range table.Rules {
		to, ok := number[r.To]
		if !ok {
			continue
		}
		var uses []int
		if r.Cap != "" {
			uses = append(uses, w.budget(budget, "cap "+r.Cap, left[r.Cap]))
		}
		if n, ok := said.Triggers[r.On]; ok {
			uses = append(uses, w.budget(budget, "trigger "+string(r.On), n))
		}
		for _, from := range r.From {
			w.edges = append(w.edges, edge{number[from], to, uses})
		}
	}
	w.prune()
	return w
}

// budget returns the number of a budget.
func (w *walks) budget(known map[string]int, name string, n int) int {
	i, ok := known[name]
	if !ok {
		i = len(w.budgets)
		known[name] = i
		w.budgets = append(w.budgets, most)
		if n >= 0 {
			w.budgets[i] = min(int64(n), most)
		}
	}
	return i
}

// prune removes edges that cannot be taken, and those for which another one uses less.
func (w *walks) prune() {
	w.edges = slices.DeleteFunc(w.edges, func(e edge) bool {
		return slices.ContainsFunc(e.uses, func(b int) bool { return w.budgets[b] == 0 })
	})
	used := make([]int64, len(w.edges))
	for i := range used {
		used[i] = 1
	}
	reached := w.reached(used)
	var kept []edge
	for i, e := range w.edges {
		worse := !reached[e.from]
		for j, other := range w.edges {
			same := e.from == other.from && e.to == other.to && j != i
			within := !slices.ContainsFunc(other.uses, func(b int) bool { return !slices.Contains(e.uses, b) })
			worse = worse || same && within && (len(other.uses) < len(e.uses) || j < i)
		}
		if !worse {
			kept = append(kept, e)
		}
	}
	w.edges = kept
}

// awaits reports whether a walk may lead to a state that awaits steps of a kind.
func (w *walks) awaits(kind nextstep.Kind) bool {
	return slices.ContainsFunc(w.edges, func(e edge) bool { return w.states[e.to].awaits == kind })
}

// startsAgents reports whether a walk may lead to a state whose calls start agents of the strategy.
func (w *walks) startsAgents() bool {
	return slices.ContainsFunc(w.edges, func(e edge) bool { return w.states[e.to].starts })
}

// reached reports which states are reached from the first by edges that are used.
func (w *walks) reached(used []int64) []bool {
	seen := make([]bool, len(w.states))
	seen[0] = true
	for grown := true; grown; {
		grown = false
		for i, e := range w.edges {
			if used[i] > 0 && seen[e.from] && !seen[e.to] {
				seen[e.to], grown = true, true
			}
		}
	}
	return seen
}
