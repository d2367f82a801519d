package bound

import (
	"slices"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// most stands for no bound. Sums and products of amounts stay at it.
const most int64 = 1 << 40

// tally is what one frame does at most, by its table. Starts are calls in states that call nothing
// but agents that the strategy brings; the other calls may be of anything.
// Of the delegations, others are those in states whose children the strategy does not list.
type tally struct{ models, steps, batches, delegations, others, calls, starts int64 }

// walks are the walks through a table that a frame may take: from the first state along edges, each
// of which uses up some of the budgets. A walk may end anywhere, since any run may end at a limit.
type walks struct {
	states  []waiting // the initial state first; without the final ones
	names   []strategy.State
	edges   []edge
	budgets []int64 // the caps of the table, and the triggers that the Bounds of the strategy count

	group []int // of each state: the first of the states that it leads to and that lead to it; nil: not known yet
	home  []int // of each budget: the group whose moves alone use it, or -1
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

// tallyOf returns what a fresh strategy with the machine does at most. Nil stands for no table.
func tallyOf(fsm *strategy.FSM, said strategy.Bounds) tally {
	if fsm == nil {
		return tally{most, most, most, most, most, most, most}
	}
	w := walksOf(fsm, said)
	awaiting := func(kind nextstep.Kind) int64 {
		return w.visits(func(s waiting) bool { return s.awaits == kind })
	}
	all := tally{
		models: awaiting(nextstep.KindGetChatCompletion), batches: awaiting(nextstep.KindExecuteTools), delegations: awaiting(nextstep.KindDelegate),
		steps: w.visits(func(waiting) bool { return true }),
		others: w.most(func(i int) int64 {
			if _, listed := said.Children[w.names[i]]; listed || w.states[i].awaits != nextstep.KindDelegate {
				return 0
			}
			return 1
		}),
	}
	counted := map[waiting]bool{}
	for _, s := range w.states {
		if s.awaits != nextstep.KindExecuteTools || counted[s] {
			continue
		}
		counted[s] = true
		n := times(s.calls, w.visits(func(other waiting) bool { return other == s }))
		if s.starts {
			all.starts = min(most, all.starts+n)
		} else {
			all.calls = min(most, all.calls+n)
		}
	}
	return all
}

// walksOf returns the walks through the table of a fresh strategy.
func walksOf(fsm *strategy.FSM, said strategy.Bounds) *walks {
	table, w, number := fsm.Table(), &walks{states: make([]waiting, 1), names: make([]strategy.State, 1)}, map[strategy.State]int{}
	for _, s := range table.States {
		if s.Name == table.Initial || s.Awaits.Final() {
			continue
		}
		calls := most
		if n, ok := said.Calls[s.Name]; ok {
			calls = int64(max(0, n))
		}
		number[s.Name] = len(w.states)
		w.states = append(w.states, waiting{s.Awaits, calls, slices.Contains(said.AgentStates, s.Name)})
		w.names = append(w.names, s.Name)
	}
	left, known := fsm.Position().Left, map[string]int{}
	for _, r := range table.Rules {
		to, ok := number[r.To]
		if !ok {
			continue
		}
		var uses []int
		if r.Cap != "" {
			uses = append(uses, w.budget(known, "cap "+r.Cap, left[r.Cap]))
		}
		if n, ok := said.Triggers[r.On]; ok {
			uses = append(uses, w.budget(known, "trigger "+string(r.On), n))
		}
		if slices.ContainsFunc(uses, func(b int) bool { return w.budgets[b] == 0 }) {
			continue
		}
		for _, from := range r.From {
			w.edges = append(w.edges, edge{number[from], to, uses})
		}
	}
	return w
}

// budget returns the number of a budget. A negative n is no bound.
func (w *walks) budget(known map[string]int, name string, n int) int {
	i, ok := known[name]
	if !ok {
		i = len(w.budgets)
		known[name] = i
		w.budgets = append(w.budgets, ceiling(n, 0))
	}
	return i
}

// visits returns how often a walk enters the states that count, at most; most if nothing bounds it.
func (w *walks) visits(counts func(waiting) bool) int64 {
	return w.most(func(i int) int64 {
		if counts(w.states[i]) {
			return 1
		}
		return 0
	})
}

// most returns what a walk earns at most, if it earns so much at each entry of a state; the bound
// most if nothing bounds it.
//
// Every use of a budget is given a price. No walk earns more than all budgets cost together, and
// what the best walk earns if it pays for what it uses. This holds whatever the prices are: the one
// that lowers the sum most is lowered, for as long as none raises it, first in large steps. A
// budget that only the moves within a group of states use costs nothing if the walk does not come
// there.
func (w *walks) most(earns func(i int) int64) int64 {
	w.gather()
	all, largest := make([]int64, len(w.states)), int64(0)
	for i := range all {
		all[i] = earns(i)
		largest = max(largest, all[i])
	}
	if largest >= most {
		return w.priced(all, make([]int64, len(w.budgets)))
	}
	prices, top := make([]int64, len(w.budgets)), times(largest, int64(len(w.states))) // no way around a cycle earns more
	for b, n := range w.budgets {
		if n < most {
			prices[b] = top
		}
	}
	best := w.priced(all, prices)
	step := int64(1)
	for step*2 <= largest {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		for lowered := 0; lowered >= 0; {
			lowered = -1
			for b := range prices {
				if prices[b] < step {
					continue
				}
				prices[b] -= step
				if n := w.priced(all, prices); n < best || n == best && lowered < 0 {
					best, lowered = n, b
				}
				prices[b] += step
			}
			if lowered >= 0 {
				prices[lowered] -= step
			}
		}
	}
	return best
}

// priced returns the price of all budgets together, and the most that a walk earns less the price
// of what it uses; most if it may earn any amount.
func (w *walks) priced(earns, prices []int64) int64 {
	sum, toll := int64(0), make([]int64, len(w.states)) // what the budgets of each group cost together
	for b, price := range prices {
		if cost := times(price, w.budgets[b]); w.home[b] >= 0 {
			toll[w.home[b]] = min(most, toll[w.home[b]]+cost)
		} else {
			sum = min(most, sum+cost)
		}
	}
	earned := make([]int64, len(w.states)) // on the way to each state
	for s := range earned[1:] {
		earned[s+1] = -most
	}
	earned[0] = toll[w.group[0]]
	for grown, rounds := true, 0; grown; rounds++ {
		if rounds > len(w.states) {
			return most
		}
		grown = false
		for _, e := range w.edges {
			n := earned[e.from] + earns[e.to]
			for _, b := range e.uses {
				n -= prices[b]
			}
			if w.group[e.from] != w.group[e.to] {
				n += toll[w.group[e.to]]
			}
			if earned[e.from] > -most && n > earned[e.to] {
				earned[e.to], grown = n, true
			}
		}
	}
	return min(most, sum+slices.Max(earned))
}

// gather finds the groups of states that lead to each other. A walk that leaves one never comes
// back.
func (w *walks) gather() {
	if w.group != nil {
		return
	}
	leads := make([][]bool, len(w.states))
	for i := range leads {
		leads[i] = make([]bool, len(w.states))
		leads[i][i] = true
	}
	for range w.states {
		for _, e := range w.edges {
			for i := range leads {
				leads[i][e.to] = leads[i][e.to] || leads[i][e.from]
			}
		}
	}
	for i := range leads {
		first := 0
		for !leads[first][i] || !leads[i][first] {
			first++
		}
		w.group = append(w.group, first)
	}
	for b := range w.budgets {
		home, used := -1, false
		for _, e := range w.edges {
			if !slices.Contains(e.uses, b) {
				continue
			}
			if at := w.group[e.from]; at != w.group[e.to] || used && at != home {
				home = -1
			} else if !used {
				home = at
			}
			used = true
		}
		w.home = append(w.home, home)
	}
}

// times multiplies amounts; no product is above most.
func times(a, b int64) int64 {
	if a > 0 && b > most/a {
		return most
	}
	return a * b
}
