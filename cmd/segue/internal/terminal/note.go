package terminal

import (
	"fmt"

	"github.com/segue-go/segue/machine"
)

// describeNote says what becomes of a note.
func describeNote(e happening, d machine.Noting, verbose bool) []Line {
	switch e.Kind {
	case machine.EventNoteHeard:
		return []Line{{Dim, place(e) + fmt.Sprintf("hears note %d", d.Note)}}
	case machine.EventNoteUnheard:
		return []Line{{Warn, "nobody heard the note: " + text(d.Text, verbose)}}
	default:
		return []Line{{Plain, indent(e) + "note: " + text(d.Text, verbose)}}
	}
}
