package bound

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// calculation computes the bound of one run.
type calculation struct {
	cfg      *machine.Config
	defs     []tools.Definition
	tools    []string         // names of the run's tools, sorted
	parts    map[string]*part // by the name of the strategy
	known    map[place]*subtree
	active   map[place]bool // being computed: who reaches such a place again goes round for ever
	branches bool           // agents may be called
	handoffs int64          // the limit on handoffs; most: there is none
}

// start is how a subtree starts.
type start struct {
	strategy string
	tools    []string // that its frame may use, sorted
	limits   counts   // the tightest of its own and those above it
	of       [shared]string
	depth    int64 // frames on top of each other that there may be, its own included
}

// place is a start as a key.
type place struct {
	strategy, tools string
	limits          counts
	of              [shared]string
	depth           int64
}

// subtree is what a frame uses at most, with everything that it starts.
type subtree struct {
	n     counts
	by    [shared][]Reason
	depth int64
	cut   bool // a limit on depth kept it from starting more
}

// noLimits are the limits of a frame that has none of its own.
var noLimits = counts{most, most, most}

// deepest is the depth from which on a limit on depth is not followed: strategies that start each
// other that often are bounded by nothing else.
const deepest = 64

// countsOf returns the limits on shared quantities. Zero is no limit: those of a run are filled in.
func countsOf(l delegation.Limits) counts {
	all := noLimits
	for q, n := range map[quantity]int{modelCalls: l.ModelCalls, toolCalls: l.ToolCalls, steps: l.Steps} {
		if n > 0 {
			all[q] = min(most, int64(n))
		}
	}
	return all
}

// unbounded is what is used by something of which nothing is known.
func unbounded(depth int64) *subtree { return &subtree{n: noLimits, depth: depth} }

// subtree returns what a frame uses with everything that it starts.
func (c *calculation) subtree(s start) *subtree {
	p := c.part(s.strategy)
	if s.depth <= 0 {
		return &subtree{cut: true}
	}
	if p.broken {
		return &subtree{}
	}
	p.reached = true
	key := place{s.strategy, strings.Join(s.tools, "\n"), s.limits, s.of, s.depth}
	if s.depth > deepest {
		key.depth = most
	}
	if known, ok := c.known[key]; ok {
		return known
	}
	if c.active[key] {
		return unbounded(s.depth)
	}
	c.active[key] = true
	made := c.frame(p, s)
	if len(p.next) > 0 {
		made = c.chained(s, made)
	}
	delete(c.active, key)
	c.known[key] = made
	return made
}

// frame computes a subtree.
func (c *calculation) frame(p *part, s start) *subtree {
	offered, w := p.offered(s.tools), anything()
	if p.fsm != nil {
		w = walksOf(p.fsm, p.said, p.brings || len(offered) > 0)
	}
	child, call, own := &subtree{}, &subtree{}, &subtree{}
	if w.awaits(nextstep.KindDelegate) {
		child = c.delegated(p, s)
	}
	if w.awaits(nextstep.KindExecuteTools) {
		call = c.called(s, p.callable(c.cfg.Agents, offered))
	}
	if w.startsAgents() {
		own = c.called(s, p.agents)
	}
	made := &subtree{depth: 1, cut: child.cut || call.cut || own.cut}
	program := &program{walks: w, child: child.n, call: call.n, own: own.n, limits: s.limits, of: s.of}
	if program.largest(delegations) > 0 {
		made.depth = max(made.depth, 1+child.depth)
	}
	if program.largest(toolCalls) > 0 {
		made.depth = max(made.depth, 1+call.depth, 1+own.depth)
	}
	made.depth = min(made.depth, s.depth)
	for q := range quantity(shared) {
		made.n[q] = program.largest(q)
		made.by[q] = program.reasons(q, made.n[q], child, call, own)
	}
	return made
}

// anything returns the walks of a strategy without a table: it does anything, in any order.
func anything() *walks {
	w := &walks{states: []waiting{{}}, budgets: []int64{most}}
	for i, kind := range []nextstep.Kind{nextstep.KindGetChatCompletion, nextstep.KindExecuteTools, nextstep.KindDelegate} {
		w.states = append(w.states, waiting{awaits: kind, calls: most})
		for from := range 4 {
			w.edges = append(w.edges, edge{from, i + 1, []int{0}})
		}
	}
	return w
}

// delegated returns what one delegation uses at most: of each quantity what the child needs that
// needs most of it.
func (c *calculation) delegated(p *part, s start) *subtree {
	names := p.children
	if p.anyone {
		names = append(c.cfg.Strategies.Names(), c.cfg.Remote...)
	}
	all := &subtree{}
	for _, name := range names {
		if _, ok := c.cfg.Strategies[name]; !ok {
			if slices.Contains(c.cfg.Remote, name) {
				all.widen(remote(s.below(name, p.said.ChildLimits, 0)), 1)
			}
			continue
		}
		below := s.below(name, p.said.ChildLimits, 0)
		below.tools = narrow(s.tools, p.said.ChildTools)
		all.widen(c.subtree(below), 1)
	}
	return all
}

// called returns what one tool call uses at most, if it is a call of an agent.
func (c *calculation) called(s start, agents []*machine.Agent) *subtree {
	all := &subtree{}
	for _, a := range agents {
		c.branches = true
		below := s.below(a.Strategy, a.Limits, 1)
		below.tools = narrow(s.tools, a.Tools)
		branches := most
		if a.Branches > 0 {
			branches = int64(a.Branches)
		}
		all.widen(c.subtree(below), branches)
	}
	return all
}

// below returns the start of a child with limits of its own. What is left of the limits above it is
// less by the step, and the tool calls, that start it.
func (s start) below(name string, own delegation.Limits, calls int64) start {
	child := start{strategy: name, limits: countsOf(own), depth: s.depth - 1}
	if own.Depth > 0 {
		child.depth = min(child.depth, int64(own.Depth))
	}
	used := counts{toolCalls: calls, steps: 1}
	for q := range child.limits {
		child.of[q] = name
		left := s.limits[q]
		if left < most {
			left = max(0, left-used[q])
		}
		if left < child.limits[q] {
			child.limits[q], child.of[q] = left, s.of[q]
		}
		if child.limits[q] == most {
			child.of[q] = ""
		}
	}
	return child
}

// remote returns what a remote uses: everything that it may.
func remote(s start) *subtree {
	if s.depth <= 0 {
		return &subtree{cut: true}
	}
	r := &subtree{n: s.limits, depth: s.depth, cut: true}
	for q := range quantity(shared) {
		if r.n[q] < most {
			r.by[q] = []Reason{{Limit: names[q], Of: s.of[q]}}
		}
	}
	return r
}

// widen makes s at least so many times other.
func (s *subtree) widen(other *subtree, times int64) {
	for q := range s.n {
		n := times64(other.n[q], times)
		if n < s.n[q] || n == 0 {
			continue
		}
		if n > s.n[q] {
			s.n[q], s.by[q] = n, nil
		}
		for _, r := range other.by[q] {
			s.by[q] = addReason(s.by[q], r)
		}
	}
	s.depth, s.cut = max(s.depth, other.depth), s.cut || other.cut
}

// times64 multiplies amounts; no product is above most.
func times64(a, b int64) int64 {
	if a > 0 && b > most/a {
		return most
	}
	return a * b
}
