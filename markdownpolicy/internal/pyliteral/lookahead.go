package pyliteral

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Lookahead examines the beginning of a call: names and blanks of limited length.
type Lookahead struct {
	Text    string
	Pos     int
	Partial bool // the text ended
}

// Call reads "name(" and reports whether a named argument, or no argument, comes next.
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

// maxLookahead is the greatest length of a name, or of the blanks between two tokens.
const maxLookahead = 128

func (l *Lookahead) blanks() {
	for end := min(len(l.Text), l.Pos+maxLookahead); l.Pos < end && textscan.IsBlank(l.Text[l.Pos]); {
		l.Pos++
	}
	l.Partial = l.Pos == len(l.Text)
}

// Name reads a name, which may contain points. It returns "" if there is none.
func (l *Lookahead) Name() string {
	l.blanks()
	start := l.Pos
	for end := min(len(l.Text), start+maxLookahead); l.Pos < end && isNameByte(l.Text[l.Pos]); {
		l.Pos++
	}
	l.Partial = l.Pos == len(l.Text)
	return l.Text[start:l.Pos]
}

// isNameByte reports whether a tool name may contain c.
func isNameByte(c byte) bool {
	return textscan.IsLetter(c) || textscan.IsDigit(c) || c == '$' || c == '-' || c == '.'
}

// Skip reads blanks and then mark, if mark comes next.
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

// Continues is [jsonscan.Continues] for a list of calls: the name of an argument must follow the
// comma.
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
		return text[next.Pos] != '=', false // not a comparison
	}
}
