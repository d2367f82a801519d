package explore

import (
	"fmt"
	"maps"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// place is where a frame stands, and the number of its step.
type place struct {
	strategy.Position
	seq  int
	open bool // its step is of the kind that the state awaits
}

// places returns where the frames with a table stand.
func (w *walk) places() map[string]place {
	all := map[string]place{}
	for _, f := range w.m.Frames() {
		if t, ok := w.live[f.Name].(strategy.Tabler); ok && t.FSM().Table() != nil {
			rule := ruleOf(w.live[f.Name])
			all[f.Name] = place{t.FSM().Position(), f.Seq, rule != nil && rule.Awaits == openKind(&f)}
		}
	}
	return all
}

// illegal says which frame has made a move that its table does not allow since then; "" if none
// has.
func (w *walk) illegal(before map[string]place) string {
	now := w.places()
	for name, was := range before {
		is, lives := now[name]
		if !lives {
			is = was // it ended, and is held to its last moves
		}
		table := w.tableOf(name)
		if table == nil {
			continue
		}
		for cap, left := range is.Left {
			if left > was.Left[cap] {
				return fmt.Sprintf("frame %s has %d left of the cap %q, and had %d", name, left, cap, was.Left[cap])
			}
		}
		moved := false
		for i := range w.events {
			change, ok := w.events[i].Detail.(machine.StateChanged)
			if !ok || w.events[i].Frame != name {
				continue
			}
			moved = true
			begun := change.From == table.Initial // what was left before the first move is not known
			if problem := taken(table, change.From, change.To, lives && !begun, was.Left, is.Left); problem != "" {
				return "frame " + name + " " + problem
			}
		}
		if lives && !moved && is.open && is.seq != was.seq {
			if problem := taken(table, was.State, is.State, true, was.Left, is.Left); problem != "" {
				return "frame " + name + " " + problem
			}
		}
	}
	return ""
}

// tableOf returns the table of the strategy of a frame that lives, or has just ended.
func (w *walk) tableOf(frame string) *strategy.Table {
	st := w.live[frame]
	if st == nil {
		st = w.gone[frame]
	}
	if t, ok := st.(strategy.Tabler); ok {
		return t.FSM().Table()
	}
	return nil
}

// taken says why a move between two states cannot have been made; "" if a rule allows it. A rule
// with a cap needs less to be left of it afterwards, where that is known.
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
