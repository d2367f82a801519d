package markdownpolicy

// jsonScan finds the end of a JSON object or array in a text that arrives in pieces. It looks at
// brackets and strings only: what it finds the end of may still be no JSON.
type jsonScan struct {
	pos      int // looked at so far
	depth    int
	inString bool
	escaped  bool
}

// scan looks on, from where it stopped, and returns the place behind the value and true, or false
// if it is not there yet. pos must stand at the opening bracket before the first scan.
func (s *jsonScan) scan(text string) (end int, ok bool) {
	for {
		stops := jsonBrackets
		switch {
		case s.escaped && s.pos < len(text):
			s.pos, s.escaped = s.pos+1, false
			continue
		case s.inString:
			stops = jsonStringStops
		}
		if s.pos = stops.next(text, s.pos); s.pos >= len(text) {
			return 0, false
		}
		s.pos++
		switch text[s.pos-1] {
		case '\\':
			s.escaped = true
		case '"':
			s.inString = !s.inString
		case '{', '[':
			s.depth++
		default:
			if s.depth--; s.depth <= 0 {
				return s.pos, true
			}
		}
	}
}

var (
	jsonBrackets    = newByteSet(`"{}[]`) // and what begins a string
	jsonStringStops = newByteSet(`"\`)
)
