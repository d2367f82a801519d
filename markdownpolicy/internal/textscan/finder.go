package markdownpolicy

import "strings"

// finder finds a mark in a text that arrives in pieces. It remembers where the next one is: as long
// as places do not go back far, no byte is looked at again, however many places are asked for.
type finder struct {
	mark  string
	from  int // from here to at there is none
	at    int
	found bool // there is one at at
}

// next returns the place of the first mark at or after a place, or -1.
func (f *finder) next(text string, from int) int {
	if from < f.from || from > f.at {
		f.from, f.at, f.found = from, from, false
	}
	if f.found {
		return f.at
	}
	i := strings.Index(text[f.at:], f.mark)
	if i < 0 {
		f.at = max(f.at, len(text)-len(f.mark)+1)
		return -1
	}
	f.at, f.found = f.at+i, true
	return f.at
}
