package markdownpolicy

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// str reads a string, from its opening quote on.
func (p *pyReader) str(raw bool) bool {
	quote := p.text[p.pos : p.pos+1]
	long := strings.Repeat(quote, 3)
	if strings.HasPrefix(p.text[p.pos:], long) {
		quote = long
	}
	p.pos += len(quote)
	p.out = append(p.out, '"')
	for {
		run := plainRun(p.text[p.pos:])
		p.out = append(p.out, p.text[p.pos:p.pos+run]...)
		if p.pos += run; p.pos == len(p.text) {
			return p.fail("the end of the string")
		}
		c := p.text[p.pos]
		switch {
		case c == quote[0] && strings.HasPrefix(p.text[p.pos:], quote):
			p.pos += len(quote)
			p.out = append(p.out, '"')
			return true
		case c == '\n' && len(quote) == 1 && !p.lineBreak():
			return p.fail(`the end of the string on the same line, with \n for line breaks`)
		case c == '\\' && raw && p.pos+1 < len(p.text):
			p.out = appendStringByte(append(p.out, `\\`...), p.text[p.pos+1])
			p.pos += 2
		case c == '\\':
			if !p.escape() {
				return p.fail("an escape of Python")
			}
		default:
			p.out = appendStringByte(p.out, c)
			p.pos++
		}
	}
}

// plainRun returns how much of a text stands for itself in any string, of JSON and of Python.
func plainRun(text string) int {
	for i := range len(text) {
		if c := text[i]; c == '"' || c == '\\' || c == '\'' || c < ' ' {
			return i
		}
	}
	return len(text)
}

// lineBreak allows for a line break in a string that must not have one.
func (p *pyReader) lineBreak() bool {
	if p.loose && len(p.repairs) < maxRepairs {
		p.repairs = append(p.repairs, Repair{Offset: p.pos, What: "escaped a line break in a string"})
		return true
	}
	return false
}

// escape reads a backslash and what it escapes. Before what needs no escape it stands for itself.
func (p *pyReader) escape() bool {
	rest := p.text[p.pos:]
	if len(rest) < 2 {
		return false
	}
	const letters, bytes = "abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\""
	c := rest[1]
	p.pos += 2
	if i := strings.IndexByte(letters, c); i >= 0 {
		p.out = appendStringByte(p.out, bytes[i])
		return true
	}
	switch c {
	case '\n':
	case 'x':
		return p.code(rest[2:], 2)
	case 'u':
		return p.code(rest[2:], 4)
	case 'U':
		return p.code(rest[2:], 8)
	case 'N':
		return false
	default:
		if c >= '0' && c <= '7' {
			return p.octal(rest[1:])
		}
		p.out = appendStringByte(append(p.out, `\\`...), c)
	}
	return true
}

// code reads the digits of an escaped character.
func (p *pyReader) code(digits string, n int) bool {
	if len(digits) < n || !isHex(digits[:n]) {
		return false
	}
	p.pos += n
	if n == 4 { // as in JSON
		p.out = append(append(p.out, `\u`...), digits[:n]...)
		return true
	}
	code, _ := strconv.ParseUint(digits[:n], 16, 32)
	return p.char(rune(code))
}

// octal reads up to three digits of an escaped character.
func (p *pyReader) octal(digits string) bool {
	n := 1
	for n < 3 && n < len(digits) && digits[n] >= '0' && digits[n] <= '7' {
		n++
	}
	p.pos += n - 1
	code, _ := strconv.ParseUint(digits[:n], 8, 32)
	return p.char(rune(code))
}

// char writes an escaped character.
func (p *pyReader) char(r rune) bool {
	if !utf8.ValidRune(r) {
		return false
	}
	for _, b := range utf8.AppendRune(nil, r) {
		p.out = appendStringByte(p.out, b)
	}
	return true
}
