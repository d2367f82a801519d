package pyliteral

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
)

// Scanner finds the end of a Python list in a text that arrives in pieces. It considers only
// brackets and strings.
type Scanner struct {
	pos   int // the text before it was read
	depth int
	quote string // the quote of the open string
}

// At returns a scanner for the list whose opening bracket is at place.
func At(place int) Scanner { return Scanner{pos: place} }

// End continues from where it stopped. It returns the position after the list, or 0 if the end has
// not come yet.
func (s *Scanner) End(text string, final bool) int {
	for {
		if s.quote != "" {
			s.pos += jsonscan.PlainRun(text[s.pos:])
		}
		if s.pos == len(text) {
			return 0
		}
		c := text[s.pos]
		switch {
		case c == '\'' || c == '"':
			if s.quote == "" && len(text)-s.pos < 3 && !final {
				return 0
			}
			if s.quote != "" && s.quote[0] == c && len(text)-s.pos < len(s.quote) && !final {
				return 0
			}
			s.pos += s.atQuote(text[s.pos:])
			continue
		case s.quote != "":
			if c == '\\' {
				if s.pos+1 == len(text) {
					return 0
				}
				s.pos++
			}
		case c == '[' || c == '(' || c == '{':
			s.depth++
		case c == ']' || c == ')' || c == '}':
			if s.depth--; s.depth <= 0 {
				s.pos++
				return s.pos
			}
		}
		s.pos++
	}
}

// Within reports whether a text ends within a string. Each text contains the one before, and ends
// before a byte that is no quote.
func (s *Scanner) Within(text string) bool {
	for s.End(text, true) > 0 {
	}
	return s.quote != ""
}

// atQuote opens or closes a string, and returns the number of bytes read.
func (s *Scanner) atQuote(rest string) int {
	long := strings.Repeat(rest[:1], 3)
	switch {
	case s.quote == "" && strings.HasPrefix(rest, long):
		s.quote = long
		return len(long)
	case s.quote == "":
		s.quote = rest[:1]
		return 1
	case strings.HasPrefix(rest, s.quote):
		size := len(s.quote)
		s.quote = ""
		return size
	default:
		return 1
	}
}
