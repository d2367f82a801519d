package explore

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

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
