package terminal

// Style is the look of a line if there are colors.
type Style string

// The styles, as the parameters of ECMA-48's "select graphic rendition".
const (
	Plain Style = ""
	Dim   Style = "2"
	Bold  Style = "1"
	Good  Style = "32"
	Bad   Style = "31"
	Warn  Style = "33"
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
