package main

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// oneLine returns s without line breaks and without what a terminal would obey: each run of such characters and of blanks
// becomes one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || obeyed(r) }), " ")
}

// printable returns s without what a terminal would obey, line breaks and tabs aside.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && obeyed(r) {
			return -1
		}
		return r
	}, s)
}

// obeyed reports whether a terminal does something with r other than to show it. Models and tools write what they like.
func obeyed(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) }

const ellipsis = "..."

// head returns the beginning of s that fits into so many columns.
func head(s string, columns int) string {
	full, cut := 0, 0
	for i, r := range s {
		if full <= columns-len(ellipsis) {
			cut = i
		}
		if full += cells(r); full > columns {
			return s[:cut] + ellipsis
		}
	}
	return s
}

// tail returns the end of s that fits into so many columns.
func tail(s string, columns int) string {
	runes := []rune(s)
	full := 0
	for i, r := range slices.Backward(runes) {
		if full += cells(r); full > columns {
			return string(runes[i+1:])
		}
	}
	return s
}

// cells is how many columns of a terminal a character takes, at most.
func cells(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
