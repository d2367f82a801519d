// Package textcut shortens texts without dividing a character.
package textcut

import "unicode/utf8"

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
