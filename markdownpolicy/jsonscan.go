package markdownpolicy

// jsonScan finds the end of a JSON object or array in a text that arrives in pieces. It looks at brackets and strings only:
// what it finds the end of may still be no JSON.
type jsonScan struct {
	pos      int // looked at so far
	depth    int
	inString bool
	escaped  bool
}

// scan looks on, from where it stopped, and returns the place behind the value and true, or false if it is not there yet.
// pos must stand at the opening bracket before the first scan.
func (s *jsonScan) scan(text string) (end int, ok bool) {
	for s.pos < len(text) {
		b := text[s.pos]
		s.pos++
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			switch b {
			case '\\':
				s.escaped = true
			case '"':
				s.inString = false
			}
		case b == '"':
			s.inString = true
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			if s.depth--; s.depth <= 0 {
				return s.pos, true
			}
		}
	}
	return 0, false
}
