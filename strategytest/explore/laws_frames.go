package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
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

// lawNotes is the law that every note is heard or reported as unheard.
const lawNotes = "a listener hears each note once, in order and before its next answer, and of a note that nobody hears this is told"

// noteReaction is the note that the world gives to a run.
const noteReaction = "note"

// notes holds the notes that the world gave to a run, and which frames heard them.
type notes struct {
	said    int // notes so far
	hearing map[string]hearing
	heard   map[int]int // by how many frames, by the number of the note
	unheard map[int]bool
	broken  string // how an event broke the law; "" if none did
}

// hearing holds the notes that a frame has heard. A successor of the frame takes it over.
type hearing struct {
	owed int // the notes that it is still to hear, or its successor
	last int // the number of the last one that it has heard
}

func (n *notes) reset() {
	n.said, n.broken = 0, ""
	clear(n.hearing)
	clear(n.heard)
	clear(n.unheard)
}

// hears reports whether a strategy listens.
func hears(st strategy.Strategy) bool {
	_, listens := st.(strategy.Listener)
	return listens
}

// noteEvent notes what an event says of a note, or of a frame. The frames that live when a note
// comes are owed it, if they listen or may hand off to one that does.
func (w *walk) noteEvent(e *machine.Event) {
	n := &w.notes
	h := n.hearing[e.Frame]
	d, _ := e.Detail.(machine.Noting)
	switch e.Kind {
	case machine.EventNoted:
		if n.hearing == nil {
			n.hearing, n.heard, n.unheard = map[string]hearing{}, map[int]int{}, map[int]bool{}
		}
		for frame, st := range w.live {
			if hears(st) || handsOff(st) {
				h := n.hearing[frame]
				h.owed++
				n.hearing[frame] = h
			}
		}
	case machine.EventNoteHeard:
		switch {
		case h.owed == 0:
			n.broken = fmt.Sprintf("frame %s has heard note %d, which is not for it or which it has heard before", e.Frame, d.Note)
		case d.Note <= h.last:
			n.broken = fmt.Sprintf("frame %s has heard note %d after note %d", e.Frame, d.Note, h.last)
		}
		n.hearing[e.Frame] = hearing{max(0, h.owed-1), d.Note}
		n.heard[d.Note]++
	case machine.EventNoteUnheard:
		if n.unheard[d.Note] || n.heard[d.Note] > 0 {
			n.broken = fmt.Sprintf("note %d is told to be unheard, and was heard or told so before", d.Note)
		}
		n.unheard[d.Note] = true
	case machine.EventFrameLeft:
		if left, _ := e.Detail.(machine.FrameLeft); left.Handoff == "" {
			delete(n.hearing, e.Frame)
		}
	default:
	}
}

// unheeded returns the problem if the law of notes is broken.
func (w *walk) unheeded(views []machine.FrameView) string {
	n := &w.notes
	if n.said == 0 || n.broken != "" {
		return n.broken
	}
	for i := range views {
		if v := &views[i]; hears(w.live[v.Name]) && v.ToHear != n.hearing[v.Name].owed {
			return fmt.Sprintf("frame %s is to hear %d notes, and %d came that it has not heard", v.Name, v.ToHear, n.hearing[v.Name].owed)
		}
	}
	for i := range w.events {
		e := &w.events[i]
		owed := n.hearing[e.Frame].owed
		if e.Kind == machine.EventStepTaken && owed > 0 && hears(w.live[e.Frame]) && !w.justEntered(e.Frame) && !w.stopped && !w.saidNow() {
			return fmt.Sprintf("frame %s was given an answer before it heard %d notes", e.Frame, owed)
		}
	}
	for note := 1; w.m.Done() && note <= n.said; note++ {
		if n.heard[note] == 0 && !n.unheard[note] {
			return fmt.Sprintf("nobody has heard note %d, and this is not told", note)
		}
	}
	return ""
}

// justEntered reports whether a frame was entered with the last reaction: its strategy has not been
// given an answer yet.
func (w *walk) justEntered(frame string) bool {
	return slices.ContainsFunc(w.events, func(e machine.Event) bool { return e.Kind == machine.EventFrameEntered && e.Frame == frame })
}

// saidNow reports whether the last reaction was a note.
func (w *walk) saidNow() bool { return len(w.events) > 0 && w.events[0].Kind == machine.EventNoted }

// handsOff reports whether a strategy may hand off; true if it panics.
func handsOff(st strategy.Strategy) (may bool) {
	defer func() { may = recover() != nil || may }()
	return len(strategy.NamesOf(st).Handoffs) > 0
}
