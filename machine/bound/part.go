package bound

import (
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// part is what is known of a strategy of the run.
type part struct {
	said     strategy.Bounds
	fsm      *strategy.FSM // of a fresh strategy, to read the values of its caps; nil: it has no table
	children []string      // names that it delegates to; nil with anyone: it does not say
	next     []string      // names that it hands off to
	anyone   bool          // it may delegate to every strategy of the run
	brings   bool          // it brings tools
	agents   []*machine.Agent
	broken   bool // it cannot be made: a frame of it never begins
	reached  bool // the run may use it
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
		p.broken = true
		return p
	}
	if b, ok := st.(strategy.Bounder); ok {
		if u, ok := st.(strategy.ToolUser); ok {
			u.UseTools(slices.Clip(c.defs))
		}
		p.said = b.Bounds()
	}
	if t, ok := st.(strategy.Tabler); ok {
		p.fsm = t.FSM()
	}
	names := strategy.NamesOf(st)
	p.children, p.anyone, p.next = names.Children, names.Children == nil, names.Successors
	p.brings = len(own) > 0
	for _, t := range own {
		if a := machine.AgentOf(t); a != nil {
			p.agents = append(p.agents, a)
		}
	}
	return p
}

// frame returns what one frame of the strategy does at most, alone.
func (p *part) frame(name string) Frame {
	f := Frame{Strategy: name, Table: p.fsm != nil, ModelCalls: Unbounded, ToolCalls: Unbounded, Batches: Unbounded, Delegations: Unbounded}
	if p.fsm == nil {
		return f
	}
	alone := program{walks: walksOf(p.fsm, p.said, true), limits: noLimits}
	for q, into := range map[quantity]*int64{modelCalls: &f.ModelCalls, toolCalls: &f.ToolCalls, batches: &f.Batches, delegations: &f.Delegations} {
		*into = shown(alone.largest(q))
	}
	return f
}

// shown returns an amount as it is handed out.
func shown(n int64) int64 {
	if n >= most {
		return Unbounded
	}
	return n
}

// offered returns the tools of the run that a frame may call, of those that it may use.
func (p *part) offered(allowed []string) []string {
	if p.said.Offers == nil {
		return allowed
	}
	return narrow(allowed, p.said.Offers)
}

// callable returns the agents that a frame may call in a state that does not only start its own.
func (p *part) callable(agents map[string]*machine.Agent, offered []string) []*machine.Agent {
	var all []*machine.Agent
	if p.said.AgentStates == nil {
		all = slices.Clone(p.agents)
	}
	for _, name := range offered {
		if a := agents[name]; a != nil {
			all = append(all, a)
		}
	}
	return all
}

// narrow returns the allowed tools with the given names; nil names mean all.
func narrow(allowed, names []string) []string {
	if names == nil {
		return allowed
	}
	narrowed := []string{}
	for _, name := range allowed {
		if slices.Contains(names, name) {
			narrowed = append(narrowed, name)
		}
	}
	return narrowed
}
