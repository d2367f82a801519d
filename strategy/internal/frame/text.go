package frame

import (
	"strings"
	"unicode/utf8"
)

// Cut returns the beginning of a text, of at most n bytes and whole characters, without blanks
// around it, and whether that is less than all of it. A text that fits is returned as it is.
func Cut(text string, n int) (beginning string, cut bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n]), true
}
