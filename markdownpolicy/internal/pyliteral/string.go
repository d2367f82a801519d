package pyliteral

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// str reads a string, beginning at its opening quote.
func (r *reader) str(raw bool) bool {
	quote := r.text[r.pos : r.pos+1]
	long := strings.Repeat(quote, 3)
	if strings.HasPrefix(r.text[r.pos:], long) {
		quote = long
	}
	r.pos += len(quote)
	r.out = append(r.out, '"')
	for {
		run := jsonscan.PlainRun(r.text[r.pos:])
		r.out = append(r.out, r.text[r.pos:r.pos+run]...)
		if r.pos += run; r.pos == len(r.text) {
			return r.fail("the end of the string")
		}
		c := r.text[r.pos]
		switch {
		case c == quote[0] && strings.HasPrefix(r.text[r.pos:], quote):
			r.pos += len(quote)
			r.out = append(r.out, '"')
			return true
		case c == '\n' && len(quote) == 1 && !r.lineBreak():
			return r.fail(`the end of the string on the same line, with \n for line breaks`)
		case c == '\\' && raw && r.pos+1 < len(r.text):
			r.out = jsonscan.AppendStringByte(append(r.out, `\\`...), r.text[r.pos+1])
			r.pos += 2
		case c == '\\':
			if !r.escape() {
				return r.fail("an escape of Python")
			}
		default:
			r.out = jsonscan.AppendStringByte(r.out, c)
			r.pos++
		}
	}
}

// lineBreak accepts a line break in a string that must not contain one, if lenient is set.
func (r *reader) lineBreak() bool {
	if r.lenient && len(r.changes) < jsonrepair.MaxChanges {
		r.changes = append(r.changes, jsonrepair.Change{Offset: r.pos, What: "escaped a line break in a string"})
		return true
	}
	return false
}

// escape reads a backslash and the character after it. A backslash before a character that needs no
// escape is kept.
func (r *reader) escape() bool {
	rest := r.text[r.pos:]
	if len(rest) < 2 {
		return false
	}
	const letters, bytes = "abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\""
	c := rest[1]
	r.pos += 2
	if i := strings.IndexByte(letters, c); i >= 0 {
		r.out = jsonscan.AppendStringByte(r.out, bytes[i])
		return true
	}
	switch c {
	case '\n':
	case 'x':
		return r.code(rest[2:], 2)
	case 'u':
		return r.code(rest[2:], 4)
	case 'U':
		return r.code(rest[2:], 8)
	case 'N':
		return false
	default:
		if c >= '0' && c <= '7' {
			return r.octal(rest[1:])
		}
		r.out = jsonscan.AppendStringByte(append(r.out, `\\`...), c)
	}
	return true
}

// code reads the digits of an escaped character.
func (r *reader) code(digits string, n int) bool {
	if len(digits) < n || !textscan.IsHex(digits[:n]) {
		return false
	}
	r.pos += n
	if n == 4 { // as in JSON
		r.out = append(append(r.out, `\u`...), digits[:n]...)
		return true
	}
	code, _ := strconv.ParseUint(digits[:n], 16, 32)
	return r.char(rune(code))
}

// octal reads up to three digits of an escaped character.
func (r *reader) octal(digits string) bool {
	n := 1
	for n < 3 && n < len(digits) && digits[n] >= '0' && digits[n] <= '7' {
		n++
	}
	r.pos += n - 1
	code, _ := strconv.ParseUint(digits[:n], 8, 32)
	return r.char(rune(code))
}

// char writes an escaped character.
func (r *reader) char(c rune) bool {
	if !utf8.ValidRune(c) {
		return false
	}
	for _, b := range utf8.AppendRune(nil, c) {
		r.out = jsonscan.AppendStringByte(r.out, b)
	}
	return true
}
