package explore

import (
	"fmt"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// lawNotes is about what becomes of a note.
const lawNotes = "a listener hears each note once, before its next answer, and of a note that nobody hears this is told"

// noteReaction is what somebody says to a run that is at work.
const noteReaction = "note"

// notes is what the world has said to a run, and what became of it.
type notes struct {
	said    int // notes so far
	owed    map[string]int
	heard   map[int]int // by how many frames, by the number of the note
	unheard map[int]bool
	broken  string // how an event broke the law; "" if none did
}

func (n *notes) reset() {
	n.said, n.broken = 0, ""
	clear(n.owed)
	clear(n.heard)
	clear(n.unheard)
}

// noteEvent notes what an event says of a note, or of a frame. The frames that live when a note
// comes are owed it, if they listen.
func (w *walk) noteEvent(e *machine.Event) {
	n := &w.notes
	d, _ := e.Detail.(machine.Noting)
	switch e.Kind {
	case machine.EventNoted:
		if n.owed == nil {
			n.owed, n.heard, n.unheard = map[string]int{}, map[int]int{}, map[int]bool{}
		}
		for frame, st := range w.live {
			if _, listens := st.(strategy.Listener); listens {
				n.owed[frame]++
			}
		}
	case machine.EventNoteHeard:
		if n.owed[e.Frame]--; n.owed[e.Frame] < 0 {
			n.broken = fmt.Sprintf("frame %s has heard note %d, which is not for it or which it has heard before", e.Frame, d.Note)
		}
		n.heard[d.Note]++
	case machine.EventNoteUnheard:
		if n.unheard[d.Note] || n.heard[d.Note] > 0 {
			n.broken = fmt.Sprintf("note %d is told to be unheard, and was heard or told so before", d.Note)
		}
		n.unheard[d.Note] = true
	case machine.EventFrameLeft:
		delete(n.owed, e.Frame)
	default:
	}
}

// unheeded says how the law of notes is broken.
func (w *walk) unheeded(views []machine.FrameView) string {
	n := &w.notes
	if n.said == 0 || n.broken != "" {
		return n.broken
	}
	for i := range views {
		if v := &views[i]; v.ToHear != n.owed[v.Name] {
			return fmt.Sprintf("frame %s is to hear %d notes, and %d came that it has not heard", v.Name, v.ToHear, n.owed[v.Name])
		}
	}
	for _, e := range w.events {
		if e.Kind == machine.EventStepTaken && n.owed[e.Frame] > 0 && w.live[e.Frame] != nil && !w.stopped && !w.saidNow() {
			return fmt.Sprintf("frame %s was given an answer before it heard %d notes", e.Frame, n.owed[e.Frame])
		}
	}
	for note := 1; w.m.Done() && note <= n.said; note++ {
		if n.heard[note] == 0 && !n.unheard[note] {
			return fmt.Sprintf("nobody has heard note %d, and this is not told", note)
		}
	}
	return ""
}

// saidNow reports whether the last reaction was a note.
func (w *walk) saidNow() bool { return len(w.events) > 0 && w.events[0].Kind == machine.EventNoted }
