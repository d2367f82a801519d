package jsonscan

import "sort"

// find returns the span that begins at at, if the scanner has found one there.
func (s *Scanner) find(at int) (*span, bool) {
	i := sort.Search(len(s.spans), func(i int) bool { return int(s.spans[i].start) >= at })
	if i == len(s.spans) || int(s.spans[i].start) != at {
		return nil, false
	}
	return &s.spans[i], true
}

// Ends finds the ends of the objects and lists of a text. It remembers the ends of all values
// within the values that it has read: a value that begins within one ends in it, or has no end
// before the first invalid byte. Each position is read at most twice, once as part of a string and
// once outside of one. Values that are nested deeper than maxNested are invalid. The zero value is
// ready to use.
type Ends [2]Scanner

// maxNested is the nesting depth of values in prose.
const maxNested = 1000

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
			return int(b.end), state
		}
	}
	scan := &e[0] // the one that ended earlier, by what precedes at: how much follows it does not matter
	if e[1].readTo(text, at) < scan.readTo(text, at) {
		scan = &e[1]
	}
	scan.keeps, scan.maxDepth = true, maxNested
	scan.Begin(at)
	if end, state = scan.Scan(text); state != Done {
		end = 0
	}
	return end, state
}

// readTo reads as much of a text as there is, and returns where that ended, at most at a position.
func (s *Scanner) readTo(text string, most int) int {
	if len(s.spans) > 0 {
		s.Scan(text)
	}
	return min(s.pos, most)
}

// Within reports whether the bracket at at is part of a larger value that has an end, as far as End
// has found such a value. wait means that the larger value may still end.
func (e *Ends) Within(text string, at int) (within, wait bool) {
	for i := range e {
		if len(e[i].spans) == 0 {
			continue
		}
		_, state := e[i].Scan(text)
		b, ok := e[i].find(at)
		if !ok || b.within == 0 {
			continue
		}
		if e[i].spans[b.within-1].end > 0 {
			return true, false
		}
		wait = wait || state == More
	}
	return false, wait
}

// Unended reports whether a value that End has found may go on after a line break.
func (e *Ends) Unended() bool {
	for i := range e {
		if len(e[i].spans) > 0 && e[i].state == More && !e[i].quoted {
			return true
		}
	}
	return false
}
