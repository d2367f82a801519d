package frame

import (
	"strings"
	"unicode/utf8"
)

// Cut returns the beginning of a text, of at most n bytes and whole characters, without blanks
// around it, and the mark on a line below. A text that fits is returned as it is, and with a
// negative n every text; the mark is not asked for then.
func Cut(text string, n int, mark func() string) string {
	if n < 0 || len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n]) + "\n" + mark()
}
