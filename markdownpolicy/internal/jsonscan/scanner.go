// Package jsonscan reads JSON within other text: where a value ends, while it arrives, and its
// members and elements as written.
//
// All code that searches for the end of JSON uses [Scanner]. [Loose] knows what is nearly JSON.
package jsonscan

import (
	"encoding/json"
	"math"
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
	kinds    []uint64 // a bit for each open bracket: whether it is a brace
	digits   int      // digits still missing after \u
	scalar   int      // the beginning of the current number or constant; 0 if there is none
	keeps    bool     // spans are kept
	spans    []span   // of all values so far, in the order of their beginnings
	open     int      // the innermost open one is spans[open-1]; 0 if none is open
	maxDepth int      // 0 is MaxDepth
}

// span is an object or an array. Its numbers are small: each byte of a text may be a bracket.
type span struct {
	start, end uint32 // end is 0 while it is open
	within     uint32 // the value of Scanner.open before it
}

// MaxDepth is the nesting depth that encoding/json accepts. Deeper values are invalid.
const MaxDepth = 10000

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
	*s = Scanner{pos: at, kinds: s.kinds[:0], keeps: s.keeps, spans: s.spans[:0], maxDepth: s.maxDepth}
}

// Looked returns the position up to which the text has been read.
func (s *Scanner) Looked() int { return s.pos }

// Scan continues from where it stopped. If the state is Done, at is the position after the value;
// if it is Invalid, at is the position of the invalid byte. A value whose end it finds is valid
// JSON.
func (s *Scanner) Scan(text string) (at int, state State) {
	for s.state == More && s.pos < len(text) {
		switch {
		case !s.step(text):
			s.state, s.stop = Invalid, s.pos
		case s.depth == 0:
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
		ok := s.token(c)
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
func (s *Scanner) token(c byte) bool {
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
	object := s.kinds[(s.depth-1)/64]>>((s.depth-1)%64)&1 == 1
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
		if !s.enter(c == '{') {
			return false
		}
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

// enter enters a bracket.
func (s *Scanner) enter(object bool) bool {
	if limit := s.maxDepth; s.depth == MaxDepth || limit > 0 && s.depth == limit || uint64(s.pos) >= math.MaxUint32 {
		return false
	}
	if s.depth/64 == len(s.kinds) {
		s.kinds = append(s.kinds, 0)
	}
	bit := uint64(1) << (s.depth % 64)
	if s.kinds[s.depth/64] &^= bit; object {
		s.kinds[s.depth/64] |= bit
	}
	s.depth++
	if s.keeps {
		s.keep(span{start: uint32(s.pos), within: uint32(s.open)})
		s.open = len(s.spans)
	}
	return true
}

// keep keeps a span. The memory grows in few steps, so that little is copied and dropped.
func (s *Scanner) keep(b span) {
	const least, factor = 16, 4
	if len(s.spans) == cap(s.spans) {
		s.spans = append(make([]span, 0, max(least, factor*len(s.spans))), s.spans...)
	}
	s.spans = append(s.spans, b)
}

// close closes the innermost bracket.
func (s *Scanner) close() bool {
	s.expects = expectNext
	s.depth--
	if s.keeps {
		b := &s.spans[s.open-1]
		b.end = uint32(s.pos + 1)
		s.open = int(b.within)
	}
	return uint64(s.pos) < math.MaxUint32
}

// Valid reports whether a text is a valid JSON object or array, with or without blanks around it.
func Valid(text string) bool {
	at := SkipBlanks(text, 0)
	if at == len(text) || text[at] != '{' && text[at] != '[' {
		return false
	}
	s := At(at)
	end, state := s.Scan(text)
	return state == Done && SkipBlanks(text, end) == len(text)
}

// Deep reports whether brackets are nested deeper than those of any value that a model means.
func Deep(text string) bool {
	depth, quoted := 0, false
	for pos := 0; ; pos++ {
		stops := brackets
		if quoted {
			stops = quotes
		}
		if pos = stops.Next(text, pos); pos >= len(text) {
			return false
		}
		switch text[pos] {
		case '\\':
			pos++
		case '"':
			quoted = !quoted
		case '{', '[':
			if depth++; depth > maxNested {
				return true
			}
		default:
			depth--
		}
	}
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
