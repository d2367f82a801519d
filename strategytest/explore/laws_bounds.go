package explore

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// lawBounds is about the Bounds of a strategy.Bounder: the bound of a run relies on them. Of these
// it holds frames to Triggers, Calls and Offers.
const lawBounds = "a strategy does no more than its Bounds say"

// bounded is what the frames of Bounders have done.
type bounded struct {
	said   map[string]*strategy.Bounds // by strategy; nothing of one that is no Bounder
	tools  []tools.Definition          // of the run
	fired  map[firing]int
	broken string // how a frame has done more; "" if none has
}

// firing is a trigger of a frame.
type firing struct {
	frame string
	on    strategy.Trigger
}

func (b *bounded) reset() {
	clear(b.fired)
	b.broken = ""
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
		w.bounded.said, w.bounded.fired = map[string]*strategy.Bounds{}, map[firing]int{}
	}
	w.bounded.tools = all
	said := b.Bounds()
	w.bounded.said[name] = &said
}

// boundEvent counts the triggers that a frame fires.
func (w *walk) boundEvent(e *machine.Event) {
	b := &w.bounded
	if len(b.said) == 0 {
		return
	}
	switch d := e.Detail.(type) {
	case machine.FrameLeft:
		for f := range b.fired {
			if f.frame == e.Frame {
				delete(b.fired, f)
			}
		}
	case machine.StateChanged:
		said := b.said[d.Strategy]
		if said == nil {
			return
		}
		most, bound := said.Triggers[d.On]
		if !bound {
			return
		}
		f := firing{e.Frame, d.On}
		if b.fired[f]++; b.fired[f] > most {
			b.broken = fmt.Sprintf("frame %s of %q has fired %q %d times, and its Bounds say %d", e.Frame, d.Strategy, d.On, b.fired[f], most)
		}
	}
}

// boundEffects looks at what has been opened.
func (w *walk) boundEffects(opened []machine.Effect) {
	for i := range opened {
		e := &opened[i]
		said := w.bounded.said[e.Strategy]
		ask, ok := e.Step.(nextstep.GetChatCompletion)
		if said == nil || !ok || said.Offers == nil {
			continue
		}
		for j := range ask.Request.Tools {
			if name := ask.Request.Tools[j].Name; w.bounded.ofRun(name) && !slices.Contains(said.Offers, name) {
				w.bounded.broken = fmt.Sprintf("request #%s of frame %s offers %q, and its Bounds do not", e.ID, e.Frame, name)
			}
		}
	}
}

// ofRun reports whether a tool is one of the run: a strategy offers others that it answers itself.
func (b *bounded) ofRun(name string) bool {
	return slices.ContainsFunc(b.tools, func(d tools.Definition) bool { return d.Name == name })
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
