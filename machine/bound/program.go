package bound

import (
	"maps"
	"math/big"
	"slices"

	"github.com/segue-go/segue/nextstep"
)

// quantity is what is counted.
type quantity int

const (
	modelCalls quantity = iota
	toolCalls
	steps
	batches     // steps of the frame itself that call tools
	delegations // steps of the frame itself that delegate
)

// shared is the number of quantities that limits bound, and that children add to.
const shared = 3

// counts are amounts of the shared quantities.
type counts [shared]int64

// program is what a frame does at most, as whole variables and rows that they fit: how often each
// edge is taken, then the tool calls of the frame, then those in states that start agents of its
// own, then the shared quantities of its children.
type program struct {
	*walks
	child  counts         // what one delegation uses
	call   counts         // what one tool call uses besides, if it is of an agent
	own    counts         // the same, in a state that starts agents of the frame's own
	limits counts         // of the frame with everything it starts; most: none
	of     [shared]string // whose these limits are
}

func (p *program) calls() int           { return len(p.edges) }
func (p *program) starts() int          { return len(p.edges) + 1 }
func (p *program) below(q quantity) int { return len(p.edges) + 2 + int(q) }
func (p *program) variables() int       { return len(p.edges) + 2 + shared }

// goal returns a quantity as a sum of variables.
func (p *program) goal(q quantity) map[int]int64 {
	goal := map[int]int64{}
	for i, e := range p.edges {
		kind := p.states[e.to].awaits
		if q == steps || kind == [...]nextstep.Kind{
			modelCalls: nextstep.KindGetChatCompletion, toolCalls: 0, batches: nextstep.KindExecuteTools, delegations: nextstep.KindDelegate,
		}[q] {
			goal[i] = 1
		}
	}
	if q == toolCalls {
		goal[p.calls()], goal[p.starts()] = 1, 1
	}
	if q < shared {
		goal[p.below(q)] = 1
	}
	return goal
}

// rows returns the conditions of every walk.
func (p *program) rows() []row {
	var all []row
	for s := range p.states { // a state is left no more often than it is entered
		r := row{times: map[int]int64{}}
		if s == 0 {
			r.most = 1
		}
		for i, e := range p.edges {
			if e.from == s {
				r.times[i]++
			}
			if e.to == s {
				r.times[i]--
			}
		}
		all = append(all, r)
	}
	for b, n := range p.budgets {
		r := row{times: map[int]int64{}, most: n}
		for i, e := range p.edges {
			for _, used := range e.uses {
				if used == b {
					r.times[i]++
				}
			}
		}
		all = append(all, r)
	}
	all = append(all, p.calling()...)
	for q := range quantity(shared) {
		below := row{times: map[int]int64{p.below(q): 1, p.calls(): -p.call[q], p.starts(): -p.own[q]}}
		for i, e := range p.edges {
			if p.states[e.to].awaits == nextstep.KindDelegate {
				below.times[i] = -p.child[q]
			}
		}
		all = append(all, below)
		if p.limits[q] < most {
			all = append(all, row{times: p.goal(q), most: p.limits[q]})
		}
	}
	// Each model call of a child is a step of it.
	return append(all, row{times: map[int]int64{p.below(modelCalls): 1, p.below(steps): -1}})
}

// calling returns the conditions of tool calls, and of those that start children.
func (p *program) calling() []row {
	calls, starts := row{times: map[int]int64{p.calls(): 1}}, row{times: map[int]int64{p.starts(): 1}}
	together := row{times: map[int]int64{p.starts(): 1}, most: p.started}
	for i, e := range p.edges {
		switch to := p.states[e.to]; {
		case to.starts:
			starts.times[i] = -to.calls
		case to.awaits == nextstep.KindDelegate:
			together.times[i] = 1
		default:
			calls.times[i] = -to.calls
		}
	}
	if p.started <= 0 {
		return []row{calls, starts}
	}
	return []row{calls, starts, together}
}

// maxNodes is how many relaxed programs are computed for one amount. Tables of people need few; for
// others the amount is larger than the truth, but no smaller.
const maxNodes = 400

// search looks for the largest goal with whole variables, on one walk that hangs together.
type search struct {
	*program
	aim   map[int]int64
	nodes int
	best  int64 // of whole variables
	above int64 // the largest that what was not searched may have
}

// largest returns the most that a walk has of a quantity; most if nothing bounds it.
func (p *program) largest(q quantity) int64 {
	s := &search{program: p, aim: p.goal(q)}
	s.look(p.rows())
	return min(most, max(s.best, s.above))
}

// look searches the variables that fit the rows.
func (s *search) look(rows []row) {
	s.nodes++
	value, at, ok := relaxed(s.variables(), rows, s.aim)
	if !ok {
		return
	}
	bound := floor(value)
	if bound <= max(s.best, s.above) || s.best >= most {
		return
	}
	if s.nodes > maxNodes {
		s.above = bound
		return
	}
	if island := s.island(at); island != nil {
		inside, entering := row{times: map[int]int64{}}, row{times: map[int]int64{}, most: -1}
		for i, e := range s.edges {
			switch {
			case island[e.from] && island[e.to]:
				inside.times[i] = 1
			case island[e.to]:
				entering.times[i] = -1
			}
		}
		s.look(with(rows, entering))
		s.look(with(rows, inside))
		return
	}
	for i := range at {
		if !at[i].IsInt() {
			n := floor(&at[i])
			s.look(with(rows, row{times: map[int]int64{i: -1}, most: -n - 1}))
			s.look(with(rows, row{times: map[int]int64{i: 1}, most: n}))
			return
		}
	}
	s.best = max(s.best, bound)
}

// island returns states that the variables go around in without ever getting there; nil if there
// are none.
func (s *search) island(at []big.Rat) map[int]bool {
	used := make([]int64, len(s.edges))
	for i := range used {
		used[i] = int64(at[i].Sign())
	}
	reached := s.reached(used)
	var found map[int]bool
	for i, e := range s.edges {
		if used[i] > 0 && !reached[e.from] {
			found = map[int]bool{e.from: true}
			break
		}
	}
	for grown := found != nil; grown; {
		before := len(found)
		for i, e := range s.edges {
			if used[i] > 0 && (found[e.from] || found[e.to]) {
				maps.Copy(found, map[int]bool{e.from: true, e.to: true})
			}
		}
		grown = len(found) > before
	}
	return found
}

// with returns the rows and one more.
func with(rows []row, r row) []row { return append(slices.Clip(rows), r) }

// floor returns the largest whole number up to r, which is not negative.
func floor(r *big.Rat) int64 {
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	if !whole.IsInt64() {
		return most
	}
	return whole.Int64()
}
