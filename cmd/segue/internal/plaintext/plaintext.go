// Package plaintext makes texts of models, tools and files safe to show: they cannot control a
// terminal, and are not wider than their space.
package plaintext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// OneLine returns s without line breaks and terminal control characters: each sequence of such
// characters and blanks becomes one space. Invalid UTF-8 is replaced, because a terminal may read
// single bytes as C1 controls.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || Obeyed(r) }), " ")
}

// Printable returns s without terminal control characters, except line breaks and tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && Obeyed(r) {
			return -1
		}
		return r
	}, s)
}

// Escaped returns a JSON text with terminal control characters written as \u escapes. Outside of
// strings JSON has only line breaks and tabs of this kind; these stay.
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

// Visible returns s with invisible characters written as in a Go string: terminal control
// characters, line breaks, characters without width, unusual blanks, and invalid UTF-8. Tabs stay.
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

// Obeyed reports whether r is a terminal control character: a control or a bidi control.
func Obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) }

// Ellipsis marks omitted text.
const Ellipsis = "..."

// Head returns the beginning of s that fits in so many columns.
func Head(s string, columns int) string {
	if CellsOf(s) <= columns {
		return s
	}
	head, _ := Split(s, columns-len(Ellipsis))
	return head + Ellipsis
}

// Tail returns the end of s that fits in so many columns.
func Tail(s string, columns int) string {
	over := CellsOf(s) - columns
	for g := uniseg.NewGraphemes(s); over > 0 && g.Next(); {
		over -= g.Width()
		_, end := g.Positions()
		if over <= 0 {
			return s[end:]
		}
	}
	return s
}

// Split returns the beginning of s that fits in so many columns, and the rest. It divides no
// character that is written with several code points.
func Split(s string, columns int) (head, rest string) {
	full := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if full += g.Width(); full > columns {
			begin, _ := g.Positions()
			return s[:begin], s[begin:]
		}
	}
	return s, ""
}

// Middle returns s, shortened in the middle if it does not fit in so many columns.
func Middle(s string, columns int) string {
	columns = max(columns, 2*len(Ellipsis)) // fewer columns would show nothing
	if CellsOf(s) <= columns {
		return s
	}
	end := Tail(s, (columns-len(Ellipsis))/2)
	return Head(s, columns-CellsOf(end)) + end
}

// CellsOf returns the number of terminal columns that a line takes. Wide characters of East Asia
// and emoji take two, marks that combine with the character before them none.
func CellsOf(s string) int { return uniseg.StringWidth(s) }

// Thousands writes a number that is not negative with commas.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Counted returns a number with a noun, in the plural if necessary.
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

// Colon returns s after a colon; "" if s is empty.
func Colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
