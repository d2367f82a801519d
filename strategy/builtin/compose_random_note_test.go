package builtin_test

import (
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// noted records what becomes of a note.
func (w *composed) noted(e *machine.Event, d machine.Noting) {
	if w.broke && w.fates[d.Note] == nil && e.Kind != machine.EventNoted {
		return // it was made before the run broke off
	}
	switch e.Kind {
	case machine.EventNoted:
		if w.fates == nil {
			w.fates = map[int]map[string]bool{}
		}
		w.fates[d.Note] = map[string]bool{}
	case machine.EventNoteHeard:
		if w.fates[d.Note][e.Frame] || w.fates[d.Note][""] {
			w.blame("frame %s hears note %d again, or after it was unheard", e.Frame, d.Note)
		}
		w.fates[d.Note][e.Frame] = true
	default:
		if len(w.fates[d.Note]) > 0 {
			w.blame("note %d was heard, or told to be unheard, and is told to be unheard", d.Note)
		}
		w.fates[d.Note][""] = true
	}
}

// heeded checks that it was told what became of each note, unless the run waits.
func (w *composed) heeded(res orchestrator.Result) {
	for note, heard := range w.fates {
		if len(heard) == 0 && !w.broke && res.Status != machine.StatusWaiting {
			w.blame("nobody says what became of note %d", note)
		}
	}
}
