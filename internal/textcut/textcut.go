// Package textcut shortens texts without dividing a character.
package textcut

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Before returns the last place up to at where no character of UTF-8 is divided. In a text that is
// not UTF-8 it may be at itself.
func Before(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for i := at; i >= max(0, at-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return at
}

// After returns the first place from at on where no character of UTF-8 is divided.
func After(text string, at int) int {
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// Short returns a text of at most so many bytes as it is, and the beginning of a longer one with
// an ellipsis.
func Short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:Before(text, most)] + "…"
}

// Fit returns text as UTF-8 of at most so many bytes (without limit if most is negative). The
// result of a call is limited in this way. If text is cut, a last line says by how much. Fit copies
// only what it keeps.
func Fit(text string, most int) string {
	if most < 0 {
		return validUTF8(text)
	}
	kept := text[:Before(text, most)]
	valid := validUTF8(kept) // may be longer than kept
	shown := valid[:Before(valid, most)]
	left := len(text) - len(kept) + len(valid) - len(shown)
	if left == 0 {
		return shown
	}
	return shown + fmt.Sprintf("\n[cut: %d of %d bytes are left out]", left, len(text))
}

func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
