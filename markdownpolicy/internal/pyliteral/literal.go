// Package pyliteral reads and writes Python literals and calls that have a JSON equivalent.
//
// https://docs.python.org/3/reference/lexical_analysis.html
package pyliteral

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Error says where a text is not Python with a JSON equivalent, and what was expected there.
type Error struct {
	Offset   int // in bytes of the text
	Expected string
}

// Read reads the literal at a position of the text: a dict, list, tuple, string, number or
// constant. It returns the literal as JSON, with tuples as arrays, and the position after it. Sets,
// bytes, formatted strings, adjacent strings, complex numbers and dicts with a repeated key have no
// JSON equivalent. Time is linear in the length of the text.
func Read(text string, at int) (value string, end int, err *Error) {
	r := reader{text: text, pos: at}
	if !r.value() {
		return "", r.pos, r.err
	}
	return r.json(), r.pos, nil
}

// reader reads Python and writes JSON. Its methods return false on failure; err then gives the
// reason.
type reader struct {
	text  string
	pos   int
	out   []byte
	depth int
	comma bool // a comma preceded the last closing bracket
	err   *Error

	lenient bool                // repair missing brackets at the end, and line breaks in strings
	changes []jsonrepair.Change // if lenient
	closed  bool                // a missing bracket at the end can be added
}

// nothing stands in out for a bracket that was none. JSON has no such byte.
const nothing = "\x00"

// json returns what was read.
func (r *reader) json() string { return strings.ReplaceAll(string(r.out), nothing, "") }

func (r *reader) fail(expected string) bool {
	if r.err == nil {
		r.err = &Error{r.pos, expected}
	}
	return false
}

// space skips blanks and comments.
func (r *reader) space() {
	for {
		for r.pos < len(r.text) && textscan.IsBlank(r.text[r.pos]) {
			r.pos++
		}
		if r.next() != '#' {
			return
		}
		if i := strings.IndexByte(r.text[r.pos:], '\n'); i >= 0 {
			r.pos += i
		} else {
			r.pos = len(r.text)
		}
	}
}

// next returns the next byte, or 0 at the end.
func (r *reader) next() byte {
	if r.pos == len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

// word returns the letters, digits and underscores that come next.
func (r *reader) word() string {
	end := r.pos
	for end < len(r.text) && (textscan.IsLetter(r.text[end]) || textscan.IsDigit(r.text[end])) {
		end++
	}
	return r.text[r.pos:end]
}

func (r *reader) value() bool {
	r.space()
	switch c := r.next(); {
	case c == '{':
		return r.dict()
	case c == '[':
		return r.list(']')
	case c == '(':
		return r.list(')')
	case c == '"' || c == '\'':
		return r.str(false)
	case c == '-' || c == '+' || c == '.' || textscan.IsDigit(c):
		return r.number()
	default:
		return r.named()
	}
}

// named reads a constant, or a string with a prefix.
func (r *reader) named() bool {
	word := r.word()
	value := ""
	switch word {
	case "True", "true":
		value = "true"
	case "False", "false":
		value = "false"
	case "None", "null":
		value = "null"
	case "r", "R", "u", "U":
		if end := r.pos + 1; end < len(r.text) && (r.text[end] == '"' || r.text[end] == '\'') {
			r.pos = end
			return r.str(word == "r" || word == "R")
		}
	}
	if value == "" {
		return r.fail("a string in quotes, a number, True, False, None, a list or a dict")
	}
	r.pos += len(word)
	r.out = append(r.out, value...)
	return true
}

// enter enters a bracket.
func (r *reader) enter() bool {
	if r.depth++; r.depth > jsonscan.MaxDepth {
		return r.fail("fewer brackets within each other")
	}
	r.pos++
	r.space()
	return true
}

// leave leaves a bracket, after the closing one.
func (r *reader) leave() {
	r.pos++
	r.depth--
}

// more reads a comma or the closing bracket, and reports whether it was a comma with something
// after it.
func (r *reader) more(closing byte) (more, ok bool) {
	r.space()
	if r.comma = r.next() == ','; r.comma {
		r.pos++
		r.space()
		if r.next() != closing {
			return true, true
		}
	}
	switch {
	case r.next() == closing:
		r.leave()
		return false, true
	case r.canClose():
		r.changes = append(r.changes, jsonrepair.Change{Offset: r.pos, What: "added the missing " + string(closing) + " at the end"})
		return false, true
	default:
		return false, r.fail("a comma or " + string(closing))
	}
}

// canClose reports whether a missing bracket at the end can be added. Only brackets are added, and
// only after a string or a bracket.
func (r *reader) canClose() bool {
	if !r.lenient || r.pos < len(r.text) || len(r.changes) == jsonrepair.MaxChanges {
		return false
	}
	if !r.closed {
		before := textscan.TrimRight(r.text)
		r.closed = before != "" && strings.IndexByte(`"')]}`, before[len(before)-1]) >= 0
	}
	return r.closed
}

// list reads a list, a tuple, or a value in parentheses.
func (r *reader) list(closing byte) bool {
	if !r.enter() {
		return false
	}
	start := len(r.out)
	r.out = append(r.out, '[')
	if r.next() == closing {
		r.leave()
		r.out = append(r.out, ']')
		return true
	}
	for n, more := 0, true; more; n++ {
		if n > 0 {
			r.out = append(r.out, ',')
		}
		var ok bool
		if !r.value() {
			return false
		}
		if more, ok = r.more(closing); !ok {
			return false
		}
		if closing == ')' && n == 0 && !more && !r.comma {
			r.out[start] = nothing[0] // it was a value in parentheses
			return true
		}
	}
	r.out = append(r.out, ']')
	return true
}

func (r *reader) dict() bool {
	if !r.enter() {
		return false
	}
	if r.next() == '}' {
		r.leave()
		r.out = append(r.out, "{}"...)
		return true
	}
	return r.members('}', func() bool {
		if !r.key() {
			return false
		}
		if r.space(); r.next() != ':' {
			return r.fail("a colon")
		}
		return true
	})
}

// members reads the members of a dict, or the arguments of a call, up to the closing bracket. key
// reads a key and stops at the sign after it.
func (r *reader) members(closing byte, key func() bool) bool {
	r.out = append(r.out, '{')
	seen := map[string]bool{}
	for more := true; more; {
		if len(seen) > 0 {
			r.out = append(r.out, ',')
		}
		start := len(r.out)
		if !key() {
			return false
		}
		name := jsonscan.Unquote(string(r.out[start:]))
		if seen[name] {
			return r.fail("every key once")
		}
		seen[name] = true
		r.pos++
		r.out = append(r.out, ':')
		if !r.value() {
			return false
		}
		var ok bool
		if more, ok = r.more(closing); !ok {
			return false
		}
	}
	r.out = append(r.out, '}')
	return true
}

// key reads a key: a string or an integer.
func (r *reader) key() bool {
	switch r.next() {
	case '"', '\'':
		return r.str(false)
	}
	word := r.word()
	if word == "" || strings.Trim(word, "0123456789") != "" || word[0] == '0' && len(word) > 1 {
		return r.fail("a key in quotes")
	}
	r.pos += len(word)
	r.out = jsonscan.AppendString(r.out, word)
	return true
}

// number reads an integer or a float.
func (r *reader) number() bool {
	end := r.pos
	for end < len(r.text) && (textscan.IsDigit(r.text[end]) || textscan.IsLetter(r.text[end]) || r.text[end] == '$' || r.text[end] == '.' || isSign(r.text, r.pos, end)) {
		end++
	}
	literal := r.text[r.pos:end]
	value, ok := jsonscan.Number(literal)
	if !ok && len(literal) > 2 && literal[0] == '0' {
		n, err := strconv.ParseInt(literal, 0, 64)
		value, ok = strconv.FormatInt(n, 10), err == nil && !textscan.IsDigit(literal[1])
	}
	if !ok {
		return r.fail("a number")
	}
	r.pos = end
	r.out = append(r.out, value...)
	return true
}

// isSign reports whether at is the position of a sign of the number that begins at start: before it
// or before its exponent.
func isSign(text string, start, at int) bool {
	if text[at] != '+' && text[at] != '-' {
		return false
	}
	return at == start || text[at-1] == 'e' || text[at-1] == 'E'
}
