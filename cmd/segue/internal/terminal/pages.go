package terminal

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// minPage is the minimum number of lines on a page, however small the terminal is.
const minPage = 3

// Pages shows lines a screenful at a time.
type Pages struct {
	heading Line
	rest    []Line // each fits in a row of the terminal
}

// NewPages returns the pages of a content below a heading, for a terminal of so many columns.
func NewPages(heading Line, content []Line, columns int) *Pages {
	return &Pages{heading, wrapAll(content, columns)}
}

// Next returns the next page, below the heading and the lines of about, which come only on the
// first page. It leaves two rows for the prompt.
func (p *Pages) Next(size Size, about ...Line) []Line {
	top := rows(p.heading, size.Columns, len(setIn))
	for _, n := range about {
		top = append(top, rows(n, size.Columns, len(setIn))...)
	}
	room := max(size.Rows-len(top)-2, minPage)
	if len(p.rest) <= room {
		page := append(top, p.rest...)
		p.rest = nil
		return page
	}
	room = max(room-1, minPage) // for the line about the remaining pages
	page := append(top, p.rest[:room]...)
	p.rest = p.rest[room:]
	left := plaintext.Counted(len(p.rest), "more line")
	return append(page, Line{Warn, "  … " + left + ": m shows more"})
}

// More reports whether there is another page.
func (p *Pages) More() bool { return len(p.rest) > 0 }

func wrapAll(lines []Line, columns int) []Line {
	var all []Line
	for _, n := range lines {
		all = append(all, wrap(n, columns)...)
	}
	return all
}

// setIn is before all rows of a line of a page but the first.
const setIn = "      "

// wrap breaks a line of a text into lines that fit in a row of a terminal, at any letter: so the
// text stays as it is. All except the first are indented.
func wrap(n Line, columns int) []Line {
	most := max(columns-1, 2*len(setIn))
	var all []Line
	var b strings.Builder
	full := 0
	for g := uniseg.NewGraphemes(n.Text); g.Next(); {
		wide := g.Width()
		if g.Str() == "\t" {
			wide = 8 // at most
		}
		if full+wide > most {
			all = append(all, Line{n.Style, b.String()})
			b.Reset()
			b.WriteString(setIn)
			full = len(setIn)
		}
		b.WriteString(g.Str())
		full += wide
	}
	return append(all, Line{n.Style, b.String()})
}

// fitted breaks a line between words into lines that fit in a row. All but the first are indented
// two columns below it.
func fitted(n Line, columns int) []Line { return rows(n, columns, 2) }

// rows breaks a line between words into lines that fit in a row. All but the first are indented so
// many columns below it. A command at the end, as after "go on with:", stays whole, so that it can
// be copied: if it is too long for a row the terminal divides it.
func rows(n Line, columns, setIn int) []Line {
	if plaintext.CellsOf(n.Text) < columns {
		return []Line{n}
	}
	words, command := n.Text, ""
	if i := strings.LastIndex(words, ": segue "); i >= 0 {
		words, command = words[:i+1], words[i+2:]
	}
	body := strings.TrimLeft(words, " ")
	indent := words[:len(words)-len(body)]
	var all []Line
	at := 0
	for _, end := range plaintext.Breaks(body, max(columns-1-len(indent)-setIn, columns/2), false) {
		all = append(all, Line{n.Style, indent + strings.TrimRight(body[at:end], " ")})
		if at == 0 {
			indent += strings.Repeat(" ", setIn)
		}
		at = end
	}
	last := &all[len(all)-1]
	switch {
	case command == "":
	case plaintext.CellsOf(last.Text)+1+plaintext.CellsOf(command) < columns:
		last.Text += " " + command
	default:
		all = append(all, Line{n.Style, indent + command})
	}
	return all
}
