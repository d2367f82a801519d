package terminal

import (
	"fmt"

	"github.com/segue-go/segue/machine"
)

// Style is the look of a line if there are colors.
type Style string

// The styles, as the parameters of ECMA-48's "select graphic rendition". None is yellow, cyan or
// blue, which many terminals show badly on a light or on a dark background.
const (
	Plain Style = ""
	Dim   Style = "2"
	Bold  Style = "1"
	Good  Style = "32"
	Bad   Style = "31"
	Warn  Style = "35"
)

// Line is one line for a terminal, without control characters.
type Line struct {
	Style Style
	Text  string
}

// Line returns a line with this style.
func (s Style) Line(text string) Line { return Line{s, text} }

// LineIf returns the line if is is true, and no line otherwise.
func LineIf(is bool, n Line) []Line {
	if !is {
		return nil
	}
	return []Line{n}
}

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
