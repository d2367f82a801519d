package bound

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// quantity is what limits bound, and what frames add to each other.
type quantity int

const (
	modelCalls quantity = iota
	toolCalls
	steps
	quantities
)

// counts are amounts of the quantities.
type counts [quantities]int64

// names are the limits on the quantities, by their JSON names.
var names = [quantities]string{"model_calls", "tool_calls", "steps"}

// deepest is the depth from which on a limit on depth is not followed: strategies that start each
// other that often are bounded by nothing else.
const deepest = 64

// calculation computes the bound of one run.
type calculation struct {
	cfg      *machine.Config
	defs     []tools.Definition  // of the run's tools
	parts    map[string]*part    // by the name of the strategy
	known    map[string]*subtree // by the start; nil: being computed, so that who comes to it goes round for ever
	branches bool                // agents may be called
	handoffs int64               // the limit on handoffs; most: there is none
}

// part is what is known of a strategy of the run.
type part struct {
	strategy strategy.Strategy // a fresh one; nil: it cannot be made, and a frame of it never begins
	said     strategy.Bounds
	table    bool
	does     tally
	walks    *walks           // by which its Children are started; nil if it does not list them
	brings   bool             // it brings tools
	agents   []*machine.Agent // that it brings
	reached  bool             // the run may use it
}

// part returns what is known of the strategy with that name.
func (c *calculation) part(name string) *part {
	if p, ok := c.parts[name]; ok {
		return p
	}
	p := &part{}
	c.parts[name] = p
	st, own, err := c.cfg.Try(name)
	if err != nil {
		return p
	}
	p.strategy, p.brings = st, len(own) > 0
	if b, ok := st.(strategy.Bounder); ok {
		if u, ok := st.(strategy.ToolUser); ok {
			u.UseTools(slices.Clip(c.defs))
		}
		p.said = b.Bounds()
	}
	var fsm *strategy.FSM
	if t, ok := st.(strategy.Tabler); ok {
		fsm = t.FSM()
	}
	p.table, p.does = fsm != nil, tallyOf(fsm, p.said)
	if fsm != nil && p.said.Children != nil {
		p.walks = walksOf(fsm, p.said)
	}
	for _, t := range own {
		if a := machine.AgentOf(t); a != nil {
			p.agents = append(p.agents, a)
		}
	}
	return p
}

// start is how a subtree starts.
type start struct {
	strategy string
	tools    []string // that its frame may use, sorted
	limits   counts   // the tightest of its own and those above it
	of       [quantities]string
	depth    int64 // frames on top of each other that there may be, its own included
}

// subtree is what a frame uses at most, with everything that it starts.
type subtree struct {
	n     counts
	by    [quantities][]Reason
	depth int64
	cut   bool // a limit on depth kept it from starting more
}

// unknown returns what is used by something of which nothing is known: all that it may.
func unknown(s start) *subtree {
	if s.depth <= 0 {
		return &subtree{cut: true}
	}
	t := &subtree{n: counts{most, most, most}, depth: s.depth, cut: true}
	t.limit(s)
	return t
}

// subtree returns what a frame uses with everything that it starts, and with its successors.
func (c *calculation) subtree(s start) *subtree {
	p := c.part(s.strategy)
	if s.depth <= 0 || p.strategy == nil {
		return &subtree{cut: s.depth <= 0}
	}
	at := s
	if at.depth > deepest {
		at.depth = most
	}
	key := fmt.Sprintf("%#v", at)
	if known, ok := c.known[key]; ok {
		if known == nil {
			return unknown(s)
		}
		return known
	}
	c.known[key] = nil
	made := c.frame(p, s)
	c.follow(made, s)
	made.limit(s)
	c.known[key] = made
	return made
}

// frame returns what a frame uses with everything that it starts. Its limits bound the calls.
func (c *calculation) frame(p *part, s start) *subtree {
	p.reached = true
	offered, does := narrow(s.tools, p.said.Offers), p.does
	if !p.brings && len(offered) == 0 {
		does.calls, does.starts = 0, 0 // calls of tools that there are not are not counted
	}
	calls, children := min(does.calls, s.limits[toolCalls]), does.others+does.starts
	if p.said.Starts > 0 {
		children = min(children, int64(p.said.Starts))
	}
	made := &subtree{n: counts{does.models, does.calls + does.starts, does.steps}, depth: 1}
	for q := range made.by {
		made.by[q] = []Reason{{}}
	}
	started, child, call := &subtree{}, &subtree{}, &subtree{}
	switch {
	case p.lists():
		children, made.n = 0, counts{}
		started = c.listed(p, s, offered)
	case p.walks != nil:
		started = c.listed(p, s, offered)
		fallthrough
	default:
		if does.others > 0 {
			c.delegated(child, p, s)
		}
		if does.starts > 0 {
			c.called(child, s, p.agents)
		}
	}
	if calls > 0 {
		c.called(call, s, p.callable(c.cfg.Agents, offered))
	}
	started.add(child, children)
	started.add(call, calls)
	made.add(started, 1)
	made.depth = min(1+started.depth, s.depth)
	for q := range made.n {
		if calls < does.calls && call.n[q] > 0 {
			made.by[q] = addReason(made.by[q], Reason{Limit: names[toolCalls], Of: s.of[toolCalls]})
		}
	}
	return made
}

// lists reports whether the Children of the strategy are all that it starts.
func (p *part) lists() bool { return p.walks != nil && p.said.Delegates == nil }

// callable returns the agents that a frame may call in a state that does not only start its own.
func (p *part) callable(agents map[string]*machine.Agent, offered []string) []*machine.Agent {
	var all []*machine.Agent
	if p.said.AgentStates == nil && !p.lists() {
		all = slices.Clone(p.agents)
	}
	for _, name := range offered {
		if a := agents[name]; a != nil {
			all = append(all, a)
		}
	}
	return all
}

// listed returns what a frame and its Children use at most, on any walk through its states. Of a
// strategy that starts other things, too, it returns what the Children use.
func (c *calculation) listed(p *part, s start, offered []string) *subtree {
	in := make([]subtree, len(p.walks.names)) // what is used by and in each state
	for i, name := range p.walks.names {
		own := p.walks.states[i]
		if i > 0 && p.lists() { // the initial state takes no step
			in[i].n[steps] = 1
		}
		switch {
		case !p.lists():
		case own.awaits == nextstep.KindGetChatCompletion:
			in[i].n[modelCalls] = 1
		case own.awaits == nextstep.KindExecuteTools && (p.brings || len(offered) > 0):
			in[i].n[toolCalls] = own.calls
		}
		for _, child := range p.said.Children[name] {
			var calls int64
			if own.awaits == nextstep.KindExecuteTools {
				calls, c.branches = 1, true
			}
			in[i].add(c.child(s, child, calls), 1)
		}
	}
	all := &subtree{}
	for q := range all.n {
		all.n[q] = p.walks.most(func(i int) int64 { return in[i].n[q] })
	}
	for i := range in {
		for q := range all.n {
			all.because(q, &in[i])
		}
		all.depth, all.cut = max(all.depth, in[i].depth), all.cut || in[i].cut
	}
	return all
}

// delegated widens what a child uses to what one delegation uses at most: of each quantity what the
// child needs that needs most of it.
func (c *calculation) delegated(child *subtree, p *part, s start) {
	for _, d := range p.said.Delegates {
		child.widen(c.child(s, d, 0), 1)
	}
	if p.said.Delegates != nil {
		return
	}
	names := strategy.NamesOf(p.strategy).Children
	if names == nil {
		names = append(c.cfg.Strategies.Names(), c.cfg.Remote...)
	}
	for _, name := range names {
		child.widen(c.child(s, strategy.Child{Strategy: name}, 0), 1)
	}
}

// child returns what a child uses that so many tool calls start.
func (c *calculation) child(s start, child strategy.Child, calls int64) *subtree {
	below := s.below(child.Strategy, child.Limits, calls)
	below.tools = narrow(s.tools, child.Tools)
	if _, ok := c.cfg.Strategies[child.Strategy]; ok {
		return c.subtree(below)
	} else if slices.Contains(c.cfg.Remote, child.Strategy) {
		return unknown(below)
	}
	return &subtree{}
}

// called widens what a child uses to what one call uses at most, if it is of one of the agents.
func (c *calculation) called(child *subtree, s start, agents []*machine.Agent) {
	for _, a := range agents {
		c.branches = true
		below := s.below(a.Strategy, a.Limits, 1)
		below.tools = narrow(s.tools, a.Tools)
		child.widen(c.subtree(below), ceiling(a.Branches, 1))
	}
}

// below returns the start of a child with limits of its own. What is left of the limits above it is
// less by the step, and the tool calls, that start it.
func (s start) below(name string, own delegation.Limits, calls int64) start {
	child := start{strategy: name, limits: limitsOf(own), depth: min(s.depth-1, ceiling(own.Depth, 1))}
	used := counts{toolCalls: calls, steps: 1}
	for q := range child.limits {
		left := s.limits[q]
		if left < most {
			left = max(0, left-used[q])
		}
		if child.limits[q] < most {
			child.of[q] = name
		}
		if left < child.limits[q] {
			child.limits[q], child.of[q] = left, s.of[q]
		}
	}
	return child
}

// follow adds to what a frame uses what its successors use, which take its place one after the
// other: as many as the limit on handoffs allows or, if none hands off to an earlier one, as there
// are. Each is taken for the one that needs most.
func (c *calculation) follow(made *subtree, s start) {
	after, circle := c.successors(s.strategy)
	links, limited := int64(len(after)), false
	if circle || c.handoffs < links {
		links, limited = c.handoffs, true
	}
	each := &subtree{}
	for _, name := range after {
		if p := c.part(name); p.strategy != nil {
			s.strategy = name
			each.widen(c.frame(p, s), 1)
		}
	}
	if len(after) == 0 {
		return
	}
	each.n[steps]++ // the handoff
	made.add(each, links)
	for q := range made.by {
		if limited && each.n[q] > 0 {
			made.by[q] = addReason(made.by[q], Reason{Limit: "handoffs"})
		}
	}
}

// successors returns the strategies that may come after a frame in its place, sorted, and whether
// one of them may come twice.
func (c *calculation) successors(of string) (all []string, circle bool) {
	onPath := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		onPath[name] = true
		for _, next := range strategy.NamesOf(c.part(name).strategy).Handoffs {
			circle = circle || onPath[next]
			if !slices.Contains(all, next) {
				all = append(all, next)
				visit(next)
			}
		}
		onPath[name] = false
	}
	visit(of)
	slices.Sort(all)
	return all, circle
}

// add adds so many times other.
func (t *subtree) add(other *subtree, n int64) {
	if n == 0 {
		return
	}
	for q := range t.n {
		if other.n[q] > 0 {
			t.n[q] = min(most, t.n[q]+times(other.n[q], n))
			t.because(q, other)
		}
	}
	t.depth, t.cut = max(t.depth, other.depth), t.cut || other.cut
}

// widen makes t at least so many times other.
func (t *subtree) widen(other *subtree, n int64) {
	for q := range t.n {
		m := times(other.n[q], n)
		if m > t.n[q] {
			t.n[q], t.by[q] = m, nil
		}
		if m > 0 && m == t.n[q] {
			t.because(q, other)
		}
	}
	t.depth, t.cut = max(t.depth, other.depth), t.cut || other.cut
}

// because adds the reasons of other.
func (t *subtree) because(q int, other *subtree) {
	for _, r := range other.by[q] {
		t.by[q] = addReason(t.by[q], r)
	}
}

// limit makes t fit the limits of a start. Each model call is a step.
func (t *subtree) limit(s start) {
	for q := range t.n {
		if t.n[q] > s.limits[q] {
			t.n[q], t.by[q] = s.limits[q], []Reason{{Limit: names[q], Of: s.of[q]}}
		}
		if t.n[q] >= most {
			t.n[q], t.by[q] = most, nil
		}
	}
	if t.n[modelCalls] > t.n[steps] {
		t.n[modelCalls], t.by[modelCalls] = t.n[steps], t.by[steps]
	}
}

// addReason adds a reason to sorted ones.
func addReason(all []Reason, r Reason) []Reason {
	i, found := slices.BinarySearchFunc(all, r, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Of, b.Of))
	})
	if found {
		return all
	}
	return slices.Insert(slices.Clip(all), i, r)
}

// narrow returns the allowed tools with the given names; nil names mean all.
func narrow(allowed, names []string) []string {
	if names == nil {
		return allowed
	}
	return slices.DeleteFunc(slices.Clone(allowed), func(name string) bool { return !slices.Contains(names, name) })
}

// limitsOf returns the limits on the quantities.
func limitsOf(l delegation.Limits) counts {
	return counts{ceiling(l.ModelCalls, 1), ceiling(l.ToolCalls, 1), ceiling(l.Steps, 1)}
}

// ceiling returns a limit, or most if it is below the least number that is one.
func ceiling(n, least int) int64 {
	if n < least {
		return most
	}
	return min(most, int64(n))
}
