package jsonscan

import (
	"strings"
)

// Lookahead reads the first members of an object, as long as they are short strings. Each step
// examines a limited number of bytes.
type Lookahead struct {
	Text    string
	Pos     int
	Partial bool // the text ended
}

// maxLookahead is the greatest length of a string, or of the blanks between two tokens.
const maxLookahead = 256

// Next skips blanks, and returns the byte behind them: a blank if there are more than are examined,
// and 0 if the text ended.
func (l *Lookahead) Next() byte {
	end := min(len(l.Text), l.Pos+maxLookahead)
	for l.Pos < end && isBlank(l.Text[l.Pos]) {
		l.Pos++
	}
	if l.Pos == len(l.Text) {
		l.Partial = true
		return 0
	}
	return l.Text[l.Pos]
}

// Skip reads a byte and the blanks before it.
func (l *Lookahead) Skip(c byte) bool {
	if l.Next() != c {
		return false
	}
	l.Pos++
	return true
}

// string reads a string.
func (l *Lookahead) string() (string, bool) {
	if !l.Skip('"') {
		return "", false
	}
	rest := l.Text[l.Pos:min(len(l.Text), l.Pos+maxLookahead)]
	i := 0
	for i < len(rest) && rest[i] != '"' {
		if rest[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(rest) {
		l.Partial = len(rest) < maxLookahead
		return "", false
	}
	literal := l.Text[l.Pos-1 : l.Pos+i+1]
	l.Pos += i + 1
	return Unquote(literal), true
}

// Key reads the name of a member and the colon.
func (l *Lookahead) Key() (string, bool) {
	key, ok := l.string()
	return key, ok && l.Skip(':')
}

// Value reads a string value and the comma after it.
func (l *Lookahead) Value() (string, bool) {
	value, ok := l.string()
	return value, ok && l.Skip(',')
}

// Continues reports whether an object continues after its apparent end: on the same line, with a
// comma or with unmatched closing brackets, and then with the key of a member. One superfluous
// bracket ends an object too early; what follows was meant to be in it. wait means that more text
// is needed.
func Continues(text string, pos int, final bool) (yes, wait bool) {
	const most = 16 // brackets and blanks
	at, wait := SameLine(text, pos, final)
	if at < 0 {
		return false, wait
	}
	window := text[at:min(len(text), at+most)]
	gap := window[:len(window)-len(strings.TrimLeft(window, "]} \t\r\n"))]
	next := Lookahead{Text: text, Pos: at + len(gap)}
	if next.Pos == len(text) {
		return false, !final
	}
	if !next.Skip(',') && gap == "" {
		return false, false
	}
	_, yes = next.Key()
	return yes, !yes && next.Partial && !final
}

// SameLine returns the position of the comma or closing bracket that follows a value on its line,
// or -1: text on a new line does not continue a value. wait means that more text is needed.
func SameLine(text string, pos int, final bool) (at int, wait bool) {
	const most = 16 // blanks
	for at = pos; at < len(text) && at < pos+most && (text[at] == ' ' || text[at] == '\t'); at++ {
	}
	if at == len(text) {
		return -1, !final
	}
	if strings.IndexByte(",]}", text[at]) < 0 {
		return -1, false
	}
	return at, false
}
