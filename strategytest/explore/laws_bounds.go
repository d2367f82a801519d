package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// lawBounds is about the Bounds of a strategy.Bounder: the bound of a run relies on them.
const lawBounds = "a strategy does no more than its Bounds say"

// bounded is what the frames of Bounders have done.
type bounded struct {
	said   map[string]*strategy.Bounds          // by strategy; nothing of one that is no Bounder
	tools  []tools.Definition                   // of the run
	agents map[string]map[string]*machine.Agent // that a strategy brings, by strategy and tool
	of     map[string]string                    // the strategies of the frames
	states map[string]strategy.State            // of the frames
	starts map[string]int                       // children of the frames so far
	places map[string][]listed                  // of the Children of the states of the frames
	given  map[string][]strategy.Child          // what the parents of the frames may have listed them as
	fired  map[firing]int
	broken string // how a frame has done more; "" if none has
}

// listed is a Child of a state.
type listed struct {
	strategy.Child
	by *brought // the agent that was started as it; nil if none was
}

// brought is an agent that a strategy brings, as it was started.
type brought struct {
	*machine.Agent
	limits delegation.Limits
}

// firing is a trigger of a frame.
type firing struct {
	frame string
	on    strategy.Trigger
}

func (b *bounded) reset() {
	clear(b.fired)
	clear(b.of)
	clear(b.states)
	clear(b.starts)
	clear(b.places)
	clear(b.given)
	b.broken = ""
}

// breaks notes how a frame has done more than it said, once.
func (b *bounded) breaks(frame, format string, args ...any) {
	if b.broken == "" {
		b.broken = fmt.Sprintf("frame %s of %q %s", frame, b.of[frame], fmt.Sprintf(format, args...))
	}
}

// readBounds keeps the Bounds of a strategy that was just made, which may use the tools of the run.
func (w *walk) readBounds(name string, st strategy.Strategy, all []tools.Definition) {
	b, ok := st.(strategy.Bounder)
	if !ok {
		return
	}
	if u, ok := st.(strategy.ToolUser); ok {
		u.UseTools(slices.Clone(all))
	}
	if w.bounded.said == nil {
		w.bounded.said, w.bounded.fired, w.bounded.agents = map[string]*strategy.Bounds{}, map[firing]int{}, map[string]map[string]*machine.Agent{}
		w.bounded.of, w.bounded.states, w.bounded.starts = map[string]string{}, map[string]strategy.State{}, map[string]int{}
		w.bounded.places, w.bounded.given = map[string][]listed{}, map[string][]strategy.Child{}
	}
	w.bounded.tools = all
	said := b.Bounds()
	w.bounded.said[name] = &said
	if p, ok := st.(strategy.ToolProvider); ok {
		own := map[string]*machine.Agent{}
		for _, t := range p.Tools() {
			own[t.Definition().Name] = machine.AgentOf(t)
		}
		w.bounded.agents[name] = own
	}
}

// boundEvent counts what a frame does.
func (w *walk) boundEvent(e *machine.Event) {
	b := &w.bounded
	if len(b.said) == 0 {
		return
	}
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		b.of[e.Frame] = d.Strategy
		switch parent := above(e.Frame); {
		case parent == "" || d.After != "":
		case d.CallID == "":
			b.given[e.Frame] = b.delegated(parent, d.Strategy, d.Limits)
		default:
			b.startsAgent(parent, d.Tool, d.Limits)
		}
	case machine.FrameLeft:
		for f := range b.fired {
			if f.frame == e.Frame {
				delete(b.fired, f)
			}
		}
		delete(b.starts, e.Frame)
		delete(b.states, e.Frame)
		delete(b.places, e.Frame)
	case machine.StateChanged:
		b.states[e.Frame] = d.To
		said := b.said[d.Strategy]
		if said == nil {
			return
		}
		b.places[e.Frame] = nil
		for _, c := range said.Children[d.To] {
			b.places[e.Frame] = append(b.places[e.Frame], listed{Child: c})
		}
		most, bound := said.Triggers[d.On]
		if !bound {
			return
		}
		f := firing{e.Frame, d.On}
		if b.fired[f]++; b.fired[f] > most {
			b.breaks(e.Frame, "has fired %q %d times, and its Bounds say %d", d.On, b.fired[f], most)
		}
	case machine.ToolStarted:
		b.called(e.Frame, d.Call.Name)
	}
}

// called counts a call of a frame.
func (b *bounded) called(frame, tool string) {
	said := b.said[b.of[frame]]
	if said == nil || said.AgentStates == nil {
		return
	}
	state := b.states[frame]
	brought := b.agents[b.of[frame]][tool] != nil
	switch in := slices.Contains(said.AgentStates, state); {
	case brought && !in:
		b.breaks(frame, "calls its agent %s in state %q, and its Bounds say %q", tool, state, said.AgentStates)
	case !brought && in:
		b.breaks(frame, "calls %s in state %q, and its Bounds say that it calls only its agents there", tool, state)
	case in:
		b.started(frame, said)
	}
}

// delegated holds a frame to what it has said of its children. It returns the entries that this
// child may be; nil: it has said nothing.
func (b *bounded) delegated(frame, child string, given delegation.Limits) []strategy.Child {
	said := b.said[b.of[frame]]
	if said == nil {
		return nil
	}
	state := b.states[frame]
	list, listed := said.Children[state]
	if !listed {
		b.started(frame, said)
		list = said.Delegates
	}
	if said.Children == nil && said.Delegates == nil {
		return nil
	}
	var meant []strategy.Child
	problem := fmt.Sprintf("starts %q in state %q, and its Bounds do not list it", child, state)
	for _, c := range list {
		if c.Strategy != child {
			continue
		}
		if over := exceeds(given, c.Limits); over == "" {
			meant = append(meant, c)
		} else {
			problem = fmt.Sprintf("gives %q %s", child, over)
		}
	}
	if meant == nil {
		b.breaks(frame, "%s", problem)
	}
	return meant
}

// meant returns those entries of the list that allow a child these tools; nil means all tools. If
// none does, it returns a tool that is in the way.
func (b *bounded) meant(list []strategy.Child, names []string) (fit []strategy.Child, besides string) {
	for _, c := range list {
		if name := b.besides(names, c.Tools); name == "" {
			fit = append(fit, c)
		} else {
			besides = name
		}
	}
	if fit != nil {
		besides = ""
	}
	return fit, besides
}

// boundTools holds the parent of a frame to what it has said of the tools that the frame may use.
func (w *walk) boundTools(frame string, may *standIn) {
	b := &w.bounded
	if len(b.given[frame]) == 0 || may == nil || !may.uses {
		return
	}
	fit, besides := b.meant(b.given[frame], toolNames(may.given))
	if besides != "" {
		w.complain(lawBounds, "frame %s of %q may use %q, and the Bounds of its parent do not say so", frame, b.of[frame], besides)
		return
	}
	b.given[frame] = fit
}

// exceeds says which of the limits that a child was given is wider than was said; "" if none is.
func exceeds(given, said delegation.Limits) string {
	has, says := reflect.ValueOf(given), reflect.ValueOf(said)
	for i := range says.NumField() {
		most, n := says.Field(i).Int(), has.Field(i).Int()
		name, _, _ := strings.Cut(says.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case most <= 0:
		case n < 0:
			return fmt.Sprintf("no limit on %s, and its Bounds say %d", name, most)
		case n > most:
			return fmt.Sprintf("%d %s, and its Bounds say %d", n, name, most)
		}
	}
	return ""
}

// startsAgent holds a frame to what it has said of its children, where it starts an agent that it
// brings: each of them is started at most once while the frame is in a state.
func (b *bounded) startsAgent(frame, tool string, given delegation.Limits) {
	said, agent, state := b.said[b.of[frame]], b.agents[b.of[frame]][tool], b.states[frame]
	if said == nil || agent == nil || said.Children == nil || said.Children[state] == nil && said.Delegates != nil {
		return
	}
	places := b.places[frame]
	if !b.place(places, &brought{agent, given}, make([]bool, len(places))) {
		b.breaks(frame, "starts its agent %s in state %q, and its Bounds do not list it, or not so often, or with less", tool, state)
	}
}

// place finds a place for an agent among those that have not been tried. An agent that has it moves
// to another one.
func (b *bounded) place(places []listed, agent *brought, tried []bool) bool {
	for i := range places {
		p := &places[i]
		if tried[i] || p.Strategy != agent.Strategy || exceeds(agent.limits, p.Limits) != "" || b.besides(agent.Tools, p.Tools) != "" {
			continue
		}
		tried[i] = true
		if p.by == nil || b.place(places, p.by, tried) {
			p.by = agent
			return true
		}
	}
	return false
}

// started counts a child of a frame.
func (b *bounded) started(frame string, said *strategy.Bounds) {
	if b.starts[frame]++; said.Starts > 0 && b.starts[frame] > said.Starts {
		b.breaks(frame, "has started %d children, and its Bounds say %d", b.starts[frame], said.Starts)
	}
}

// boundEffects looks at what has been opened.
func (w *walk) boundEffects(opened []machine.Effect) {
	b := &w.bounded
	if len(b.said) == 0 {
		return
	}
	for i := range opened {
		e := &opened[i]
		switch step := e.Step.(type) {
		case nextstep.Delegate:
			if _, name := b.meant(b.delegated(e.Frame, step.Strategy, step.Limits), step.Tools); name != "" {
				b.breaks(e.Frame, "gives %q %s, and its Bounds do not", step.Strategy, name)
			}
		case nextstep.GetChatCompletion:
			names := toolNames(step.Request.Tools)
			if said := b.said[e.Strategy]; said != nil {
				if name := b.besides(names, said.Offers); name != "" {
					b.breaks(e.Frame, "in request #%s offers %q, and its Bounds do not", e.ID.String(), name)
				}
			}
			fit, name := b.meant(b.given[e.Frame], names)
			if name != "" {
				b.breaks(e.Frame, "in request #%s offers %q, which the Bounds of its parent do not", e.ID.String(), name)
				continue
			}
			b.given[e.Frame] = fit
		}
	}
}

// toolNames returns the names of tools; never nil.
func toolNames(defs []tools.Definition) []string {
	names := make([]string, len(defs))
	for i := range defs {
		names[i] = defs[i].Name
	}
	return names
}

// besides returns a tool of the run that is among the names, of which nil are all, and was not
// said; "" if there is none. A strategy offers others, that it answers itself.
func (b *bounded) besides(names, said []string) string {
	for _, d := range b.tools {
		if said != nil && (names == nil || slices.Contains(names, d.Name)) && !slices.Contains(said, d.Name) {
			return d.Name
		}
	}
	return ""
}

// unbounded says which frame has done more than its Bounds say.
func (w *walk) unbounded(views []machine.FrameView) string {
	b := &w.bounded
	if b.broken != "" || len(b.said) == 0 {
		return b.broken
	}
	for i := range views {
		v := &views[i]
		said := b.said[v.Strategy]
		if said == nil {
			continue
		}
		most, bound := said.Calls[v.State]
		if calls := openCalls(v); bound && calls > most {
			return fmt.Sprintf("frame %s of %q makes %d calls in state %q, and its Bounds say %d", v.Name, v.Strategy, calls, v.State, most)
		}
	}
	return ""
}

// openCalls returns how many calls of its step a frame waits for.
func openCalls(v *machine.FrameView) int {
	n := 0
	for i := range v.Effects {
		if v.Effects[i].Kind == machine.EffectTool {
			n++
		}
	}
	return n
}
