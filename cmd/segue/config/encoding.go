package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// marks are the bytes with which files in other encodings begin; the longer ones come first.
var marks = []struct {
	bytes []byte
	name  string
}{
	{[]byte{0xff, 0xfe, 0, 0}, "UTF-32"},
	{[]byte{0, 0, 0xfe, 0xff}, "UTF-32"},
	{[]byte{0xff, 0xfe}, "UTF-16"},
	{[]byte{0xfe, 0xff}, "UTF-16"},
}

// foreign returns the problem of a text that is not in UTF-8.
func foreign(text []byte) (Problem, bool) {
	for _, mark := range marks {
		if bytes.HasPrefix(text, mark.bytes) {
			return inEncoding(mark.name), true
		}
	}
	if len(text) > 1 && (text[0] == 0) != (text[1] == 0) {
		return inEncoding("UTF-16"), true
	}
	at := Position{1, 1}
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

func inEncoding(name string) Problem {
	return Problem{At: Position{1, 1}, Text: "the file is in " + name + ": save it as UTF-8"}
}
