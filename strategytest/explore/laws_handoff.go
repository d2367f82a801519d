package explore

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// The laws of handoffs. That their number is within the limit is part of lawLimits.
const (
	lawPlace  = "a successor takes the place of its predecessor, and the stack does not grow"
	lawHanded = "a successor is given the conversation that was chosen for it, which is valid"
)

// handoffs are the frames that have handed off, and whose successors have not been entered yet.
type handoffs struct {
	due    map[string]handoff // by the name of the frame
	broken string             // how an event broke lawPlace; "" if none did
}

// handoff is a frame that has handed off.
type handoff struct {
	depth           int
	from, successor string
	chosen          []byte // the input for the successor, in a walk that looks closely
}

func (h *handoffs) reset() {
	h.broken = ""
	clear(h.due)
}

// handedOff notes that a frame has handed off.
func (w *walk) handedOff(e *machine.Event, left *machine.FrameLeft) {
	if left.Handoff == "" {
		return
	}
	h := handoff{depth: e.Depth, from: left.Strategy, successor: left.Handoff}
	if s := w.stands[e.Frame]; s != nil {
		h.chosen = s.chosen
	}
	if w.handoffs.due == nil {
		w.handoffs.due = map[string]handoff{}
	}
	w.handoffs.due[e.Frame] = h
}

// tookOver compares a frame that was entered with the handoff before it: its place in the tree, and
// the input that its predecessor chose.
func (w *walk) tookOver(e *machine.Event, entered *machine.FrameEntered) {
	if entered.After == "" {
		return
	}
	h, is := w.handoffs.due[e.Frame]
	delete(w.handoffs.due, e.Frame)
	switch {
	case !is:
		w.handoffs.broken = fmt.Sprintf("%q is entered as frame %s after %q, and no frame of that name has handed off", entered.Strategy, e.Frame, entered.After)
	case h.from != entered.After || h.successor != entered.Strategy:
		w.handoffs.broken = fmt.Sprintf("in frame %s %q comes after %q, and %q has handed off to %q", e.Frame, entered.Strategy, entered.After, h.from, h.successor)
	case h.depth != e.Depth:
		w.handoffs.broken = fmt.Sprintf("frame %s has depth %d, and its predecessor had %d", e.Frame, e.Depth, h.depth)
	}
	if s := w.stands[e.Frame]; s != nil && h.chosen != nil && !bytes.Equal(s.began, h.chosen) {
		w.complain(lawHanded, "%q is given %.300s, and %q has chosen %.300s", entered.Strategy, s.began, h.from, h.chosen)
	}
}

// onTop names a successor that has not taken the place of its predecessor.
func (w *walk) onTop(views []machine.FrameView) string {
	for frame, h := range w.handoffs.due {
		return fmt.Sprintf("frame %s has handed off to %q, and nothing has taken its place", frame, h.successor)
	}
	for i := range views {
		if f := &views[i]; w.live[f.Name] == nil {
			return fmt.Sprintf("there is a frame %s of %q that was never entered", f.Name, f.Strategy)
		}
	}
	return w.handoffs.broken
}

// hands looks at the input for a successor.
func (s *standIn) hands(to *nextstep.Handoff) {
	if err := to.Input.Messages.Validate(); err != nil {
		s.walk.complain(lawHanded, "what %q is handed: %v", to.Strategy, err)
	}
	s.chosen = formOf(&to.Input)
}

// formOf returns the JSON form of an input; nil if it has none.
func formOf(in *delegation.Input) []byte {
	form, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	return form
}
