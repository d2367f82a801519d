package explore

import (
	"fmt"
	"maps"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// place is the position of a frame in its table, and the number of its step.
type place struct {
	strategy.Position
	table *strategy.Table
	seq   int
	open  bool // its step is of the kind that the state awaits
}

// places returns the positions of the frames with a table.
func (w *walk) places() map[string]place {
	all := map[string]place{}
	for _, f := range w.m.Frames() {
		if t, ok := w.live[f.Name].(strategy.Tabler); ok && t.FSM().Table() != nil {
			rule := ruleOf(w.live[f.Name])
			all[f.Name] = place{t.FSM().Position(), t.FSM().Table(), f.Seq, rule != nil && rule.Awaits == openKind(&f)}
		}
	}
	return all
}

// moves returns the moves of a frame with the last reaction, until it was left. A successor in its
// place has a table of its own.
func (w *walk) moves(frame string) (all []machine.StateChanged, left bool) {
	for i := range w.events {
		if w.events[i].Frame != frame {
			continue
		}
		switch d := w.events[i].Detail.(type) {
		case machine.StateChanged:
			all = append(all, d)
		case machine.FrameLeft:
			return all, true
		}
	}
	return all, false
}

// illegal names a frame that has made a move since then that its table forbids; "" if none has.
func (w *walk) illegal(before map[string]place) string {
	now := w.places()
	for name, was := range before {
		is, lives := now[name]
		moves, left := w.moves(name)
		if lives = lives && !left; !lives {
			is = was // it is held to its last moves
		}
		for cap, left := range is.Left {
			if left > was.Left[cap] {
				return fmt.Sprintf("frame %s has %d left of the cap %q, and had %d", name, left, cap, was.Left[cap])
			}
		}
		for _, change := range moves {
			begun := change.From == was.table.Initial // what was left before the first move is not known
			if problem := taken(was.table, change.From, change.To, lives && !begun, was.Left, is.Left); problem != "" {
				return "frame " + name + " " + problem
			}
		}
		if lives && len(moves) == 0 && is.open && is.seq != was.seq {
			if problem := taken(was.table, was.State, is.State, true, was.Left, is.Left); problem != "" {
				return "frame " + name + " " + problem
			}
		}
	}
	return ""
}

// taken returns the reason why no rule allows a move between two states; "" if a rule allows it. If
// the rule has a cap, less of the cap must be left afterwards, where this is known.
func taken(t *strategy.Table, from, to strategy.State, known bool, was, is map[string]int) string {
	rules := map[string]bool{}
	for _, r := range t.Rules {
		for _, f := range r.From {
			if f == from && r.To == to {
				rules[r.Cap] = true
			}
		}
	}
	if len(rules) == 0 {
		return fmt.Sprintf("has gone from %q to %q, and no rule leads there", from, to)
	}
	for cap := range maps.Keys(rules) {
		if cap == "" || !known || was[cap] == strategy.Unbounded || is[cap] < was[cap] {
			return ""
		}
	}
	return fmt.Sprintf("has gone from %q to %q, and nothing was taken off a cap of the rules", from, to)
}
