package main

import "strings"

// minPage is how many lines a page has at least, however low the terminal is.
const minPage = 3

// pages shows lines a screenful at a time.
type pages struct {
	heading note
	rest    []note // each fits into a row of the terminal
}

// newPages returns the pages of a content below a heading, for a terminal of so many columns.
func newPages(heading note, content []note, columns int) *pages {
	return &pages{heading, wrapAll(content, columns)}
}

// next returns the next page, below the heading and what comes with it on the first page. Two rows
// are left for the prompt.
func (p *pages) next(size size, about ...note) []note {
	top := append(wrap(p.heading, size.columns), wrapAll(about, size.columns)...)
	room := max(size.rows-len(top)-2, minPage)
	if len(p.rest) <= room {
		page := append(top, p.rest...)
		p.rest = nil
		return page
	}
	room = max(room-1, minPage) // for the line that tells of the rest
	page := append(top, p.rest[:room]...)
	p.rest = p.rest[room:]
	left := counted(len(p.rest), "more line")
	return append(page, note{warn, "  … " + left + ": m shows more"})
}

// more reports whether there is another page.
func (p *pages) more() bool { return len(p.rest) > 0 }

func wrapAll(notes []note, columns int) []note {
	var all []note
	for _, n := range notes {
		all = append(all, wrap(n, columns)...)
	}
	return all
}

// wrap breaks a line into such as fit into a row of a terminal. All but the first are set in.
func wrap(n note, columns int) []note {
	const setIn = "      "
	most := max(columns-1, 2*len(setIn))
	var all []note
	var b strings.Builder
	full := 0
	for _, r := range n.text {
		wide := cells(r)
		if r == '\t' {
			wide = 8 // at most
		}
		if full+wide > most {
			all = append(all, note{n.style, b.String()})
			b.Reset()
			b.WriteString(setIn)
			full = len(setIn)
		}
		b.WriteRune(r)
		full += wide
	}
	return append(all, note{n.style, b.String()})
}
