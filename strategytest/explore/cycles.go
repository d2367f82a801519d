package explore

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// cycles is the graph of the states in which a query is unfulfilled, to find runs that never end.
type cycles struct {
	wanted bool // there is a Leads
	due    []due
	index  map[stateKey]int32
	edges  []edge
}

// edge is a reaction that leads from one node to another.
type edge struct {
	from, to int32
	choice   choice
}

// with returns the key of the same state with queries due. A state with others due is another one.
func (k stateKey) with(d due) stateKey {
	binary.LittleEndian.PutUint64(k[:], binary.LittleEndian.Uint64(k[:])^uint64(d))
	return k
}

// of returns what is due in a node.
func (g *cycles) of(at int32) due {
	if !g.wanted || at < 0 {
		return 0
	}
	return g.due[at]
}

// keep adds the next node. The choice c in the node from led to it; from is -1 for the first node.
func (g *cycles) keep(key stateKey, from int32, c choice, d due) {
	if !g.wanted {
		return
	}
	if g.index == nil {
		g.index = map[stateKey]int32{}
	}
	g.index[key] = int32(len(g.due)) //nolint:gosec // States is an int that fits
	g.due = append(g.due, d)
	if from >= 0 {
		g.join(from, key, c)
	}
}

// join notes that a choice leads from a node to a known one.
func (g *cycles) join(from int32, key stateKey, c choice) {
	if !g.wanted || c.effect == whole {
		return
	}
	if to := g.index[key]; g.due[from]&g.due[to] != 0 {
		g.edges = append(g.edges, edge{from, to, c})
	}
}

// findCycles refutes each Leads with a cycle.
func (q *inquiry) findCycles() {
	for i := range q.results {
		if a := &q.results[i]; a.Query.kind == leads && a.Holds {
			if path, round := q.lasso(1 << i); path != nil {
				q.refuteRound(a, path, round)
			}
		}
	}
}

// lasso returns a path that ends with a round: its last reactions lead from a state back to this
// state, and d is due all the time. round is their number. The path is nil if there is none.
func (q *inquiry) lasso(d due) (path []choice, round int) {
	next := q.cycles.endless(d)
	at, found := int32(0), false
	for ; int(at) < len(next); at++ {
		if found = next[at] != nil; found {
			break
		}
	}
	if !found {
		return nil, 0
	}
	path = q.x.path(at)
	visited := []int32{}
	for !slices.Contains(visited, at) {
		visited = append(visited, at)
		path, at = append(path, next[at].choice), next[at].to
	}
	return path, len(visited) - slices.Index(visited, at)
}

// endless returns an edge for each node from which a run can go on for ever while d is due. The
// edge leads to another such node.
func (g *cycles) endless(d due) []*edge {
	out, into := make([]int, len(g.due)), map[int32][]int32{}
	within := func(e *edge) bool { return g.due[e.from]&d != 0 && g.due[e.to]&d != 0 }
	for i := range g.edges {
		if e := &g.edges[i]; within(e) {
			out[e.from]++
			into[e.to] = append(into[e.to], e.from)
		}
	}
	var ends []int32
	for at := range out {
		if out[at] == 0 {
			ends = append(ends, int32(at)) //nolint:gosec // States is an int that fits
		}
	}
	for ; len(ends) > 0; ends = ends[1:] {
		for _, from := range into[ends[0]] {
			if out[from]--; out[from] == 0 {
				ends = append(ends, from)
			}
		}
	}
	next := make([]*edge, len(out))
	for i := range g.edges {
		if e := &g.edges[i]; within(e) && out[e.to] > 0 && next[e.from] == nil {
			next[e.from] = e
		}
	}
	return next
}

// refuteRound refutes a Leads with a path that ends in a round, if the run really makes the round.
func (q *inquiry) refuteRound(a *Result, path []choice, round int) {
	x, start := q.x, len(path)-round
	var keys [2]stateKey
	var d due
	t := x.along(len(path), func(x *exploration, i int) (pick, error) {
		if r := x.reaction(path[i]); r != nil {
			return pick{r, path[i]}, nil
		}
		return pick{}, errGone
	}, func() func(*State) bool {
		i := 0
		return func(s *State) bool {
			d = a.later(s, 0, a.Query.first(s), d)
			if i == start {
				keys[0], _ = x.key()
			}
			keys[1], _ = x.key()
			i++
			return d == 0 && i > start
		}
	}())
	if t.err != nil || t.law != "" || t.reached || keys[0] != keys[1] {
		a.Undecided++
		return
	}
	a.round = round
	problem := fmt.Sprintf("the last %d reactions lead back to the same state, and so on for ever", round)
	if round == 1 {
		problem = "the last reaction leads back to the same state, and so on for ever"
	}
	q.refute(a, path, problem)
}
