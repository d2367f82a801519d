package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// foreign returns the problem of a text that is not in UTF-8.
func foreign(text []byte) (Problem, bool) {
	begins := func(mark string) bool { return bytes.HasPrefix(text, []byte(mark)) }
	encoding := ""
	switch {
	case begins("\xff\xfe\x00\x00"), begins("\x00\x00\xfe\xff"):
		encoding = "UTF-32"
	case begins("\xff\xfe"), begins("\xfe\xff"), len(text) > 1 && (text[0] == 0) != (text[1] == 0):
		encoding = "UTF-16"
	}
	at := Position{1, 1}
	if encoding != "" {
		return Problem{At: at, Text: "the file is in " + encoding + ": save it as UTF-8"}, true
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			return Problem{At: at, Text: fmt.Sprintf("the byte 0x%02X is not UTF-8; the file seems to be in Latin-1 (ISO 8859-1 or Windows-1252): save it as UTF-8", text[0])}, true
		case r == 0:
			return Problem{At: at, Text: "a byte is zero, which no text has: write the file anew, as a text in UTF-8"}, true
		case r == '\n':
			at = Position{at.Line + 1, 1}
		default:
			at.Column++
		}
		text = text[size:]
	}
	return Problem{}, false
}
