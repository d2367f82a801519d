// Package jsonscan reads JSON within other text: where a value ends, while it arrives, and its
// members and elements as written.
//
// [Scanner] is the only scanner. All code that searches for the end of JSON uses it.
package jsonscan

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Scanner finds the end of a JSON object or array in a text that arrives in pieces, beginning at
// its opening bracket. [Scanner.Scan] reads it as JSON. [Scanner.End] considers only brackets and
// strings, and may continue where Scan stopped. Each byte is read once.
type Scanner struct {
	pos     int // the text before it was read
	depth   int // the number of open brackets
	quoted  bool
	escaped bool // after a backslash in a string

	// fields of Scan
	state    State
	stop     int // if state is not More, where Scan stopped
	expects  expectation
	spans    []span // in the order of their beginnings
	open     int    // the innermost open one is spans[open-1]; 0 if none is open
	digits   int    // digits still missing after \u
	scalar   int    // the beginning of the current number or constant; 0 if there is none
	maxDepth int    // 0 means no limit
}

// span is an object or an array.
type span struct {
	start, end int // end is 0 while it is open
	within     int // the value of Scanner.open before it
}

// State is the result of a scan.
type State uint8

// The states.
const (
	More    State = iota // the text ends within the value
	Done                 // the value ends
	Invalid              // a byte is not valid JSON here
)

type expectation uint8

const (
	expectValue   expectation = iota
	expectElement             // or the end of the array
	expectKey
	expectMember // a key or the end of the object
	expectColon
	expectNext // a comma or the closing bracket
)

// At returns a scanner for the value whose opening bracket is at place.
func At(place int) Scanner { return Scanner{pos: place} }

// Begin restarts the scanner at the bracket at at.
func (s *Scanner) Begin(at int) {
	*s = Scanner{pos: at, spans: s.spans[:0], maxDepth: s.maxDepth}
}

// Looked returns the position up to which the text has been read.
func (s *Scanner) Looked() int { return s.pos }

// Scan continues from where it stopped. If the state is Done, at is the position after the value;
// if it is Invalid, at is the position of the invalid byte. A value whose end it finds is valid
// JSON, except that encoding/json limits the nesting depth.
func (s *Scanner) Scan(text string) (at int, state State) {
	for s.state == More && s.pos < len(text) {
		switch {
		case !s.step(text):
			s.state, s.stop = Invalid, s.pos
		case s.open == 0:
			s.state, s.stop = Done, s.pos
		}
	}
	if s.state == More {
		return s.pos, More
	}
	return s.stop, s.state
}

// step reads a token, or the available part of it. It returns false if the token is invalid here.
func (s *Scanner) step(text string) bool {
	switch c := text[s.pos]; {
	case s.quoted:
		return s.string(text)
	case s.scalar > 0:
		return s.literal(text)
	case isBlank(c):
		s.pos++
		return true
	default:
		ok := s.token(text, c)
		if ok {
			s.pos++
		}
		return ok
	}
}

// string continues to read a string.
func (s *Scanner) string(text string) bool {
	for ; s.pos < len(text); s.pos++ {
		c := text[s.pos]
		switch {
		case s.digits > 0:
			if !textscan.IsHex(text[s.pos : s.pos+1]) {
				return false
			}
			s.digits--
		case s.escaped:
			if strings.IndexByte(`"\/bfnrtu`, c) < 0 {
				return false
			}
			if s.escaped = false; c == 'u' {
				s.digits = 4
			}
		case !stringStops[c]:
			s.pos = stringStops.Next(text, s.pos) - 1
		case c == '"':
			s.pos++
			s.quoted = false
			return true
		case c == '\\':
			s.escaped = true
		default:
			return false
		}
	}
	return true
}

// literal continues to read a number or a constant.
func (s *Scanner) literal(text string) bool {
	for s.pos < len(text) && literals[text[s.pos]] {
		s.pos++
	}
	if s.pos == len(text) {
		return true
	}
	literal := text[s.scalar:s.pos]
	s.scalar = 0
	return json.Valid([]byte(literal))
}

var (
	literals    = textscan.NewByteSet("+-.0123456789eEtrufalsn") // the bytes of numbers and constants
	brackets    = textscan.NewByteSet(`"{}[]`)                   // including the quote of a string
	quotes      = textscan.NewByteSet(`"\`)                      // the bytes with a meaning in a string
	stringStops = newStringStops()
)

// newStringStops returns the bytes of a string that are examined one by one: those with a meaning,
// and those that are not allowed.
func newStringStops() *textscan.ByteSet {
	set := *quotes
	for c := range ' ' {
		set[c] = true
	}
	return &set
}

// token reads a byte outside of strings and literals.
func (s *Scanner) token(text string, c byte) bool {
	switch s.expects {
	case expectElement, expectValue:
		return c == ']' && s.expects == expectElement && s.close() || s.value(c)
	case expectMember, expectKey:
		if c == '"' {
			s.quoted, s.expects = true, expectColon
			return true
		}
		return c == '}' && s.expects == expectMember && s.close()
	case expectColon:
		s.expects = expectValue
		return c == ':'
	default: // expectNext
	}
	object := text[s.spans[s.open-1].start] == '{'
	switch {
	case c == ',' && object:
		s.expects = expectKey
	case c == ',':
		s.expects = expectValue
	case c == '}' && object, c == ']' && !object:
		return s.close()
	default:
		return false
	}
	return true
}

// value begins a value.
func (s *Scanner) value(c byte) bool {
	s.expects = expectNext
	switch {
	case c == '{' || c == '[':
		if s.depth == s.maxDepth && s.maxDepth > 0 {
			return false
		}
		s.spans = append(s.spans, span{start: s.pos, within: s.open})
		s.open = len(s.spans)
		s.depth++
		if s.expects = expectElement; c == '{' {
			s.expects = expectMember
		}
	case c == '"':
		s.quoted = true
	case literals[c]:
		s.scalar = s.pos
	default:
		return false
	}
	return true
}

// close closes the innermost bracket.
func (s *Scanner) close() bool {
	b := &s.spans[s.open-1]
	b.end = s.pos + 1
	s.open, s.expects = b.within, expectNext
	s.depth--
	return true
}

// End continues from where it or Scan stopped, and considers only brackets and strings. It returns
// the position after the value and true, or false if the end has not come yet. The value may be
// invalid JSON.
func (s *Scanner) End(text string) (end int, ok bool) {
	for s.state != Done {
		stops := brackets
		switch {
		case s.escaped && s.pos < len(text):
			s.pos, s.escaped = s.pos+1, false
			continue
		case s.quoted:
			stops = quotes
		}
		if s.pos = stops.Next(text, s.pos); s.pos >= len(text) {
			return 0, false
		}
		s.pos++
		switch text[s.pos-1] {
		case '\\':
			s.escaped = true
		case '"':
			s.quoted = !s.quoted
		case '{', '[':
			s.depth++
		default:
			if s.depth--; s.depth <= 0 {
				return s.pos, true
			}
		}
	}
	return s.stop, true
}

// find returns the span that begins at at, if the scanner has found one there.
func (s *Scanner) find(at int) (*span, bool) {
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].start >= at })
	if i == len(s.spans) || s.spans[i].start != at {
		return nil, false
	}
	return &s.spans[i], true
}

// Ends finds the ends of the objects and lists of a text. It remembers the ends of all values
// within the values that it has read: a value that begins within one ends in it, or has no end
// before the first invalid byte. Each position is read at most twice, once as part of a string and
// once outside of one. The zero value is ready to use.
type Ends [2]Scanner

// End returns the position after the JSON whose opening bracket is at at. Positions must not
// decrease from call to call.
func (e *Ends) End(text string, at int) (end int, state State) {
	for i := range e {
		if b, ok := e[i].find(at); ok {
			if b.end == 0 {
				_, state = e[i].Scan(text)
				b, _ = e[i].find(at)
			}
			if b.end > 0 {
				state = Done
			}
			return b.end, state
		}
	}
	scan := &e[0] // the one that ended earlier
	if e[1].pos < scan.pos {
		scan = &e[1]
	}
	scan.Begin(at)
	if end, state = scan.Scan(text); state != Done {
		end = 0
	}
	return end, state
}
