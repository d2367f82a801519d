package textscan

import "strings"

// Finder finds a mark in a text that arrives in pieces. It remembers where the next one is: as long
// as places do not go back far, no byte is looked at again, however many places are asked for.
type Finder struct {
	Mark string

	from  int // from here to at there is none
	at    int
	found bool // there is one at at
}

// Next returns the place of the first mark at or after a place, or -1.
func (f *Finder) Next(text string, from int) int {
	if from < f.from || from > f.at {
		f.from, f.at, f.found = from, from, false
	}
	if f.found {
		return f.at
	}
	i := strings.Index(text[f.at:], f.Mark)
	if i < 0 {
		f.at = max(f.at, len(text)-len(f.Mark)+1)
		return -1
	}
	f.at, f.found = f.at+i, true
	return f.at
}

// StandsAt says whether a mark stands at a place, or may, once more of the text has come.
func StandsAt(text string, at int, mark string, final bool) (yes, wait bool) {
	rest := text[at:]
	if strings.HasPrefix(rest, mark) {
		return true, false
	}
	return false, !final && len(rest) < len(mark) && strings.HasPrefix(mark, rest)
}
