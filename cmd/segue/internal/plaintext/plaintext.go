// Package plaintext makes texts of models, tools and files fit to be shown: nothing in them drives
// a terminal, and nothing is wider than its place.
package plaintext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// OneLine returns s without line breaks and without what a terminal would obey: each run of such
// characters and of blanks becomes one space. Bytes that are no text are replaced: a terminal may
// take single ones for C1 controls.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || Obeyed(r) }), " ")
}

// Printable returns s without what a terminal would obey, line breaks and tabs aside.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && Obeyed(r) {
			return -1
		}
		return r
	}, s)
}

// Escaped returns a JSON text in which everything that a terminal would obey is written as a \u
// escape. Outside of strings JSON has only line breaks and tabs of this kind, and they stay.
func Escaped(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd") // a json.RawMessage may hold other bytes
	if !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && Obeyed(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && Obeyed(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Visible returns s with all that does not show written as in a Go string: what a terminal obeys,
// line breaks among it, characters without width, odd blanks, and bytes that are no text. Tabs
// stay.
func Visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if c := s[:size]; r == '\t' || strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(c)
		} else {
			quoted := strconv.Quote(c)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// Obeyed reports whether a terminal does something with r other than to show it. Models and tools
// write what they like.
func Obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) }

// Ellipsis stands where something was left out.
const Ellipsis = "..."

// Head returns the beginning of s that fits into so many columns.
func Head(s string, columns int) string {
	full, cut := 0, 0
	for i, r := range s {
		if full <= columns-len(Ellipsis) {
			cut = i
		}
		if full += Cells(r); full > columns {
			return s[:cut] + Ellipsis
		}
	}
	return s
}

// Tail returns the end of s that fits into so many columns.
func Tail(s string, columns int) string {
	runes := []rune(s)
	full := 0
	for i, r := range slices.Backward(runes) {
		if full += Cells(r); full > columns {
			return string(runes[i+1:])
		}
	}
	return s
}

// Middle returns s, without what is in its middle where it does not fit into so many columns.
func Middle(s string, columns int) string {
	columns = max(columns, 2*len(Ellipsis)) // less would tell nothing
	if CellsOf(s) <= columns {
		return s
	}
	end := Tail(s, (columns-len(Ellipsis))/2)
	return Head(s, columns-CellsOf(end)) + end
}

// CellsOf is how many columns of a terminal a line takes, at most.
func CellsOf(s string) int {
	n := 0
	for _, r := range s {
		n += Cells(r)
	}
	return n
}

// Cells is how many columns of a terminal a character takes, at most.
func Cells(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Thousands writes a number that is not negative with commas.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Counted says how many of something there are.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

// Join joins the words that are not empty.
func Join(separator string, words ...string) string {
	kept := words[:0]
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, separator)
}

// Colon puts s behind a colon, if there is anything to put.
func Colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
