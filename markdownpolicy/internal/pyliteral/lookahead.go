package pyliteral

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Lookahead looks at how a call begins: at names and blanks of a bounded length.
type Lookahead struct {
	Text    string
	Pos     int
	Partial bool // the text ended
}

// Call reads "name(" and reports whether an argument with a name, or none at all, comes next.
func (l *Lookahead) Call() bool {
	if l.Name() == "" || !l.Skip("(") {
		return false
	}
	if l.Skip(")") {
		return l.Skip("]") || l.Skip(",")
	}
	if l.Skip("**") {
		return true
	}
	return !l.Partial && l.Name() != "" && l.Skip("=")
}

// maxLookahead is how long a name, or the blanks between two things, may be.
const maxLookahead = 128

func (l *Lookahead) blanks() {
	for end := min(len(l.Text), l.Pos+maxLookahead); l.Pos < end && textscan.IsBlank(l.Text[l.Pos]); {
		l.Pos++
	}
	l.Partial = l.Pos == len(l.Text)
}

// Name reads a name, which may have points, and is "" if there is none.
func (l *Lookahead) Name() string {
	l.blanks()
	start := l.Pos
	for end := min(len(l.Text), start+maxLookahead); l.Pos < end && isNameByte(l.Text[l.Pos]); {
		l.Pos++
	}
	l.Partial = l.Pos == len(l.Text)
	return l.Text[start:l.Pos]
}

// isNameByte reports whether the name of a tool may hold a byte.
func isNameByte(c byte) bool {
	return textscan.IsLetter(c) || textscan.IsDigit(c) || c == '$' || c == '-' || c == '.'
}

// Skip reads blanks and what comes next, if it is that.
func (l *Lookahead) Skip(mark string) bool {
	l.blanks()
	rest := l.Text[l.Pos:]
	if strings.HasPrefix(rest, mark) {
		l.Pos += len(mark)
		return true
	}
	l.Partial = l.Partial || len(rest) < len(mark) && strings.HasPrefix(mark, rest)
	return false
}

// Continues is [jsonscan.Continues] for a list of calls: behind a comma stands the name of an
// argument.
func Continues(text string, pos int, final bool) (yes, wait bool) {
	at, wait := jsonscan.SameLine(text, pos, final)
	if at < 0 {
		return false, wait
	}
	next := Lookahead{Text: text, Pos: at}
	switch {
	case !next.Skip(",") || next.Name() == "" || !next.Skip("="):
		return false, next.Partial && !final
	case next.Pos == len(text):
		return final, !final
	default:
		return text[next.Pos] != '=', false // no comparison
	}
}
