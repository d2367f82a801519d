package markdownpolicy

import (
	"strconv"
	"strings"
)

// pyLiteral reads the literal of Python that stands at a place of the text: a dict, list, tuple,
// string, number or constant. It returns it as JSON, tuples as arrays, and the place behind it.
// Sets, bytes, formatted strings, strings next to each other, complex numbers and dicts with a key
// twice have no JSON. Time is linear in the length of the text.
//
// https://docs.python.org/3/reference/lexical_analysis.html
func pyLiteral(text string, at int) (value string, end int, err *ParseError) {
	p := pyReader{text: text, pos: at}
	if !p.value() {
		return "", p.pos, p.err
	}
	return strings.TrimLeft(string(p.out), " "), p.pos, nil
}

// pyReader reads Python, and writes JSON. Its methods return false where they cannot, and then err
// says why.
type pyReader struct {
	text  string
	pos   int
	out   []byte
	depth int
	comma bool // there was a comma before the closing bracket that was read last
	err   *ParseError

	loose   bool     // mend what is missing at the end, and line breaks in strings
	repairs []Repair // if loose
	closed  bool     // a bracket that is missing at the end can be added
}

func (p *pyReader) fail(expected string) bool {
	if p.err == nil {
		p.err = broken(p.pos, expected, p.text[p.pos:], nil)
	}
	return false
}

// space skips blanks and comments.
func (p *pyReader) space() {
	for {
		for p.pos < len(p.text) && strings.IndexByte(blanks, p.text[p.pos]) >= 0 {
			p.pos++
		}
		if p.next() != '#' {
			return
		}
		if i := strings.IndexByte(p.text[p.pos:], '\n'); i >= 0 {
			p.pos += i
		} else {
			p.pos = len(p.text)
		}
	}
}

// next is the next byte, 0 at the end.
func (p *pyReader) next() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// word returns the letters, digits and underscores that come next.
func (p *pyReader) word() string {
	end := p.pos
	for end < len(p.text) && (isLetter(p.text[end]) && p.text[end] != '$' || isDigit(p.text[end])) {
		end++
	}
	return p.text[p.pos:end]
}

func (p *pyReader) value() bool {
	p.space()
	switch c := p.next(); {
	case c == '{':
		return p.dict()
	case c == '[':
		return p.list(']')
	case c == '(':
		return p.list(')')
	case c == '"' || c == '\'':
		return p.str(false)
	case c == '-' || c == '+' || c == '.' || isDigit(c):
		return p.number()
	default:
		return p.named()
	}
}

// named reads a constant, or a string with a prefix.
func (p *pyReader) named() bool {
	word := p.word()
	value := ""
	switch word {
	case "True", "true":
		value = "true"
	case "False", "false":
		value = "false"
	case "None", "null":
		value = "null"
	case "r", "R", "u", "U":
		if end := p.pos + 1; end < len(p.text) && (p.text[end] == '"' || p.text[end] == '\'') {
			p.pos = end
			return p.str(word == "r" || word == "R")
		}
	}
	if value == "" {
		return p.fail("a string in quotes, a number, True, False, None, a list or a dict")
	}
	p.pos += len(word)
	p.out = append(p.out, value...)
	return true
}

// enter goes into a bracket.
func (p *pyReader) enter() bool {
	if p.depth++; p.depth > maxDepth {
		return p.fail("fewer brackets within each other")
	}
	p.pos++
	p.space()
	return true
}

// leave goes out of a bracket, behind the closing one.
func (p *pyReader) leave() {
	p.pos++
	p.depth--
}

// more reads a comma or the closing bracket, and reports whether it was a comma with something
// behind it.
func (p *pyReader) more(closing byte) (more, ok bool) {
	p.space()
	if p.comma = p.next() == ','; p.comma {
		p.pos++
		p.space()
		if p.next() != closing {
			return true, true
		}
	}
	switch {
	case p.next() == closing:
		p.leave()
		return false, true
	case p.canClose():
		p.repairs = append(p.repairs, Repair{Offset: p.pos, What: "added the missing " + string(closing) + " at the end"})
		return false, true
	default:
		return false, p.fail("a comma or " + string(closing))
	}
}

// canClose reports whether a bracket that is missing at the end can be added: nothing else is, if a
// string or a bracket ends there.
func (p *pyReader) canClose() bool {
	if !p.loose || p.pos < len(p.text) || len(p.repairs) == maxRepairs {
		return false
	}
	if !p.closed {
		before := trimBlanksRight(p.text)
		p.closed = before != "" && strings.IndexByte(`"')]}`, before[len(before)-1]) >= 0
	}
	return p.closed
}

// list reads a list, a tuple, or a value in parentheses.
func (p *pyReader) list(closing byte) bool {
	if !p.enter() {
		return false
	}
	start := len(p.out)
	p.out = append(p.out, '[')
	if p.next() == closing {
		p.leave()
		p.out = append(p.out, ']')
		return true
	}
	for n, more := 0, true; more; n++ {
		if n > 0 {
			p.out = append(p.out, ',')
		}
		var ok bool
		if !p.value() {
			return false
		}
		if more, ok = p.more(closing); !ok {
			return false
		}
		if closing == ')' && n == 0 && !more && !p.comma {
			p.out[start] = ' ' // a value in parentheses
			return true
		}
	}
	p.out = append(p.out, ']')
	return true
}

func (p *pyReader) dict() bool {
	if !p.enter() {
		return false
	}
	if p.next() == '}' {
		p.leave()
		p.out = append(p.out, "{}"...)
		return true
	}
	return p.members('}', func() bool {
		if !p.key() {
			return false
		}
		if p.space(); p.next() != ':' {
			return p.fail("a colon")
		}
		return true
	})
}

// members reads the members of a dict, or the arguments of a call, up to the closing bracket. key
// reads a key and stops at the sign behind it.
func (p *pyReader) members(closing byte, key func() bool) bool {
	p.out = append(p.out, '{')
	seen := map[string]bool{}
	for more := true; more; {
		if len(seen) > 0 {
			p.out = append(p.out, ',')
		}
		start := len(p.out)
		if !key() {
			return false
		}
		name := decodeString(string(p.out[start:]))
		if seen[name] {
			return p.fail("every key once")
		}
		seen[name] = true
		p.pos++
		p.out = append(p.out, ':')
		if !p.value() {
			return false
		}
		var ok bool
		if more, ok = p.more(closing); !ok {
			return false
		}
	}
	p.out = append(p.out, '}')
	return true
}

// key reads a key: a string or an integer.
func (p *pyReader) key() bool {
	switch p.next() {
	case '"', '\'':
		return p.str(false)
	}
	word := p.word()
	if word == "" || strings.Trim(word, "0123456789") != "" || word[0] == '0' && len(word) > 1 {
		return p.fail("a key in quotes")
	}
	p.pos += len(word)
	p.out = appendString(p.out, word)
	return true
}

// number reads an integer or a float.
func (p *pyReader) number() bool {
	end := p.pos
	for end < len(p.text) && (isDigit(p.text[end]) || isLetter(p.text[end]) || p.text[end] == '.' || isSign(p.text, p.pos, end)) {
		end++
	}
	literal := p.text[p.pos:end]
	value, ok := jsonNumber(literal)
	if !ok && len(literal) > 2 && literal[0] == '0' {
		n, err := strconv.ParseInt(literal, 0, 64)
		value, ok = strconv.FormatInt(n, 10), err == nil && !isDigit(literal[1])
	}
	if !ok {
		return p.fail("a number")
	}
	p.pos = end
	p.out = append(p.out, value...)
	return true
}

// isSign reports whether a sign that belongs to a number stands at a place: before it or before its
// exponent.
func isSign(text string, start, at int) bool {
	if text[at] != '+' && text[at] != '-' {
		return false
	}
	return at == start || text[at-1] == 'e' || text[at-1] == 'E'
}
