package markdownpolicy

import (
	"encoding/json"
	"sort"
)

// strictScan follows a JSON object or array in a text that arrives in pieces, and stops at the
// first byte that JSON has no place for. What it finds the end of is JSON, but that encoding/json
// bounds how deep it is.
type strictScan struct {
	pos      int // looked at so far
	state    scanState
	expects  expectation
	brackets []jsonSpan // in the order in which they open
	in       int        // the innermost that is open; -1: none

	quoted  bool // within a string
	escaped bool // behind a backslash
	digits  int  // that \u still needs
	scalar  int  // where the number or constant begins that is being read; 0: none
}

// jsonSpan is an object or an array.
type jsonSpan struct {
	start, end int // end is 0 while it is open
	within     int // the one around it; -1: none
}

type scanState uint8

const (
	scanMore scanState = iota
	scanDone           // it ends before pos
	scanNone           // it is none
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

// begin begins at the bracket that stands at a place.
func (s *strictScan) begin(at int) {
	*s = strictScan{pos: at, in: -1, brackets: s.brackets[:0]}
}

// scan looks on, from where it stopped.
func (s *strictScan) scan(text string) scanState {
	for s.state == scanMore && s.pos < len(text) {
		ok := true
		switch c := text[s.pos]; {
		case s.quoted:
			ok = s.string(text)
		case s.scalar > 0:
			ok = s.literal(text)
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			s.pos++
		default:
			if ok = s.token(text, c); ok {
				s.pos++
			}
		}
		if !ok {
			s.state = scanNone
		} else if s.in < 0 {
			s.state = scanDone
		}
	}
	return s.state
}

// string reads on in a string.
func (s *strictScan) string(text string) bool {
	for ; s.pos < len(text); s.pos++ {
		c := text[s.pos]
		switch {
		case c >= ' ' && c != '"' && c != '\\' && !s.escaped && s.digits == 0:
		case s.digits > 0:
			if c|0x20 < 'a' || c|0x20 > 'f' {
				if c < '0' || c > '9' {
					return false
				}
			}
			s.digits--
		case s.escaped:
			s.escaped = false
			switch c {
			case 'u':
				s.digits = 4
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default:
				return false
			}
		case c == '"':
			s.pos++
			s.quoted = false
			return true
		case c < ' ':
			return false
		default:
			s.escaped = c == '\\'
		}
	}
	return true
}

// literal reads on in a number or a constant.
func (s *strictScan) literal(text string) bool {
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

// literals are the bytes of numbers and constants.
var literals = newByteSet("+-.0123456789eEtrufalsn")

// token reads a byte outside of strings and literals.
func (s *strictScan) token(text string, c byte) bool {
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
	object := text[s.brackets[s.in].start] == '{'
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
func (s *strictScan) value(c byte) bool {
	s.expects = expectNext
	switch {
	case c == '{' || c == '[':
		s.brackets = append(s.brackets, jsonSpan{start: s.pos, within: s.in})
		s.in = len(s.brackets) - 1
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
func (s *strictScan) close() bool {
	b := &s.brackets[s.in]
	b.end = s.pos + 1
	s.in, s.expects = b.within, expectNext
	return true
}

// find returns the bracket that stands at a place, if it was met there.
func (s *strictScan) find(at int) (*jsonSpan, bool) {
	i := sort.Search(len(s.brackets), func(i int) bool { return s.brackets[i].start >= at })
	if i == len(s.brackets) || s.brackets[i].start != at {
		return nil, false
	}
	return &s.brackets[i], true
}

// strictScans find the ends of objects and lists. It remembers what is in one that has been looked
// at: whatever begins within it has its end there, or none before the byte at which it is no JSON.
// A place is thus looked at twice at most, once as within a string and once as outside of one, as
// scans that agree on that are one.
type strictScans [2]strictScan

// end returns the place behind the JSON that begins with the bracket at a place. Places must not go
// back.
func (s *strictScans) end(text string, at int) (end int, state scanState) {
	for i := range s {
		if b, ok := s[i].find(at); ok {
			if b.end == 0 {
				state = s[i].scan(text)
				b, _ = s[i].find(at)
			}
			if b.end > 0 {
				state = scanDone
			}
			return b.end, state
		}
	}
	scan := &s[0] // the one that ended before
	if s[1].pos < scan.pos {
		scan = &s[1]
	}
	scan.begin(at)
	if state = scan.scan(text); state == scanDone {
		end = scan.pos
	}
	return end, state
}
