package tools

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bounds of a JSON text that a model wrote. What is beyond them is refused before anything is built
// for it.
const (
	maxDepth  = 64      // lists and objects within each other
	maxValues = 100_000 // values in all
	maxNumber = 400     // bytes of a number, and most of its exponent: arithmetic on more is slow
)

// parse reads a JSON text (RFC 8259) into nil, bool, json.Number, string, []any and map[string]any.
// It is stricter than encoding/json: the bounds above hold, and no object has a name twice. Bytes
// that are not UTF-8, and lone surrogates, become U+FFFD.
func parse(text string) (any, *Problem) {
	p := parser{text: text}
	v := p.value(0)
	p.skipBlank()
	if p.problem == nil && p.at < len(text) {
		p.unexpected()
	}
	return v, p.problem
}

// parser stops at the first problem: then at stands at the end, so that every loop ends.
type parser struct {
	text    string
	at      int
	values  int
	problem *Problem
}

func (p *parser) fail(message string) {
	if p.problem == nil {
		p.problem = &Problem{Message: message}
	}
	p.at = len(p.text)
}

// unexpected fails at the current byte.
func (p *parser) unexpected() {
	if p.at >= len(p.text) {
		p.fail(fmt.Sprintf("not JSON: unexpected end at byte %d", len(p.text)))
		return
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	p.fail(fmt.Sprintf("not JSON: unexpected %q at byte %d", r, p.at))
}

// peek returns the next byte that is not blank; 0 at the end.
func (p *parser) peek() byte {
	p.skipBlank()
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) skipBlank() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// expect skips the byte c.
func (p *parser) expect(c byte) bool {
	if p.peek() != c {
		p.unexpected()
		return false
	}
	p.at++
	return true
}

func (p *parser) value(depth int) any {
	if p.values++; p.values > maxValues {
		p.fail(fmt.Sprintf("more than %d values", maxValues))
		return nil
	}
	switch c := p.peek(); c {
	case '{', '[':
		if depth == maxDepth {
			p.fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
			return nil
		}
		p.at++
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.list(depth + 1)
	case '"':
		return p.string()
	case 't':
		return p.literal("true", true)
	case 'f':
		return p.literal("false", false)
	case 'n':
		return p.literal("null", nil)
	default:
		return json.Number(p.number())
	}
}

func (p *parser) object(depth int) any {
	o := map[string]any{}
	if p.peek() == '}' {
		p.at++
		return o
	}
	for p.problem == nil {
		if p.peek() != '"' {
			p.unexpected()
			break
		}
		name := p.string()
		if _, twice := o[name]; twice && p.problem == nil {
			p.fail(fmt.Sprintf("%s stands twice in an object", brief(name)))
		}
		if !p.expect(':') {
			break
		}
		o[name] = p.value(depth)
		if p.peek() == ',' {
			p.at++
			continue
		}
		p.expect('}')
		break
	}
	return o
}

func (p *parser) list(depth int) any {
	l := []any{}
	if p.peek() == ']' {
		p.at++
		return l
	}
	for p.problem == nil {
		l = append(l, p.value(depth))
		if p.peek() == ',' {
			p.at++
			continue
		}
		p.expect(']')
		break
	}
	return l
}

func (p *parser) literal(word string, v any) any {
	for i := range len(word) {
		if p.at >= len(p.text) || p.text[p.at] != word[i] {
			p.unexpected()
			return nil
		}
		p.at++
	}
	return v
}

// string reads the string that begins here. What is more than plain text is left to encoding/json.
func (p *parser) string() string {
	from, plain, ascii := p.at, true, true
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			raw := p.text[from:p.at]
			if plain && (ascii || utf8.ValidString(raw)) {
				return raw[1 : len(raw)-1]
			}
			var s string
			if err := json.Unmarshal([]byte(raw), &s); err != nil {
				p.fail(fmt.Sprintf("not JSON: a bad escape in the string at byte %d", from))
			}
			return s
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			p.unexpected()
			return ""
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	p.at = len(p.text)
	p.unexpected()
	return ""
}

// number reads a number and returns it as it is written.
func (p *parser) number() string {
	from := p.at
	if p.at < len(p.text) && p.text[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == '0' {
		p.at++
	} else {
		p.digits()
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		p.digits()
	}
	exponent := 0
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		if p.at++; p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		exponent = p.digits()
	}
	if p.problem == nil && (exponent > maxNumber || p.at-from > maxNumber) {
		p.fail(fmt.Sprintf("the number at byte %d is too long", from))
	}
	return p.text[from:p.at]
}

// digits skips one digit or more, up to what is too long, and returns their value, or something
// large.
func (p *parser) digits() int {
	from, n := p.at, 0
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' && p.at-from <= maxNumber {
		n = min(n*10+int(p.text[p.at]-'0'), 1<<20)
		p.at++
	}
	if p.at == from {
		p.unexpected()
	}
	return n
}

// brief quotes a piece of what a model wrote, shortened: it may be a secret in the wrong place.
func brief(s string) string {
	return fmt.Sprintf("%q", shorten(s, 24))
}
