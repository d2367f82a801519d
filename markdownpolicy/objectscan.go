package markdownpolicy

// objectScan follows what may be a JSON object in prose, and stops at the first byte that JSON has no place for. What it
// finds the end of may still be no JSON, but never goes beyond the line of a fence.
type objectScan struct {
	pos      int // looked at so far
	depth    int
	inString bool
	escaped  bool
	keyed    bool // the first key has begun
}

type scanState uint8

const (
	scanMore scanState = iota
	scanDone           // the object ends before pos
	scanNone           // it is none
)

// scan looks on, from where it stopped. pos must stand at the opening brace before the first scan.
func (s *objectScan) scan(text string) scanState {
	for ; s.pos < len(text); s.pos++ {
		b := text[s.pos]
		switch {
		case s.escaped:
			s.escaped = false
		case b < ' ' && (s.inString || b != '\n' && b != '\t' && b != '\r'):
			return scanNone
		case s.inString:
			s.inString, s.escaped = b != '"', b == '\\'
		case !s.keyed && s.depth == 1 && b != '"' && b > ' ':
			return scanNone
		case b == '"':
			s.inString, s.keyed = true, true
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			if s.depth--; s.depth == 0 {
				s.pos++
				return scanDone
			}
		case !outsideStrings[b]:
			return scanNone
		}
	}
	return scanMore
}

// outsideStrings are the bytes that JSON has outside of strings, brackets and quotes aside.
var outsideStrings = func() (set [256]bool) {
	for _, b := range []byte(" \t\r\n,:+-.0123456789eEtrufalsn") {
		set[b] = true
	}
	return set
}()
