package reactscan

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Keyword is a keyword at the beginning of a line of a ReAct reply.
type Keyword uint8

// The keywords.
const (
	NoKeyword Keyword = iota
	Thought
	Action
	Input
	Observation
	Answer
	TentativeAnswer // "Answer:", which counts as the final answer only if there is no other
)

// Mark describes the beginning of a line, or of the text after a keyword on its line.
type Mark struct {
	Key   Keyword
	Fence bool // the line begins or ends a code block

	end     int  // the position after the keyword, relative to the line
	plain   bool // written as in the instructions: not indented, not bold, in the usual letter case
	blank   bool // the line is empty
	escape  int  // a backslash at escape-1 removes the meaning of what follows; 0 if there is none
	partial bool // more text is needed
}

// Limits on what may surround a keyword, so that examining a line takes constant time.
const (
	maxIndent = 32
	maxHashes = 6
	maxStars  = 3
	maxDigits = 4
	maxGap    = 4
)

// ReadMark examines the beginning of line, which more lines may follow. final means that nothing
// follows the text.
func ReadMark(line string, final bool) Mark {
	indent := runOf(line, 0, " \t", maxIndent)
	body := line[indent:]
	if body == "" {
		return Mark{partial: !final}
	}
	switch body[0] {
	case '\n':
		return Mark{blank: true}
	case '\r':
		return Mark{blank: len(body) > 1 && body[1] == '\n', partial: len(body) == 1 && !final}
	case '\\':
		return escapeMark(line, indent, final)
	case '`', '~':
		return fenceMark(body, final)
	case '#', '*', 'T', 'A', 'O', 'F':
		m := keywordMark(body, final)
		m.plain = m.plain && indent == 0
		m.end += indent
		return m
	}
	return Mark{}
}

// escapeMark reads backslashes: they escape what would be a mark without them.
func escapeMark(line string, at int, final bool) Mark {
	rest := strings.TrimLeft(line[at:], `\`)
	if rest == "" {
		return Mark{partial: !final}
	}
	m := Mark{}
	switch rest[0] {
	case '`', '~':
		m = fenceMark(rest, final)
	default:
		m = keywordMark(rest, final)
	}
	if m.Fence || m.Key != NoKeyword && m.Key != TentativeAnswer {
		return Mark{escape: at + 1}
	}
	return Mark{partial: m.partial}
}

func fenceMark(body string, final bool) Mark {
	n := runOf(body, 0, body[:1], 3)
	return Mark{Fence: n == 3, partial: n < 3 && n == len(body) && !final}
}

// keywordMark reads forms such as "Thought:", "**Action:**", "### Action 2 Input:".
func keywordMark(s string, final bool) Mark {
	i := runOf(s, 0, "#", maxHashes)
	i = runOf(s, i, " \t", maxGap)
	opened := runOf(s, i, "*", maxStars)
	stars := opened - i
	key, i := readWord(s, opened)
	if key == Action {
		numbered := runOf(s, runOf(s, i, " \t_", maxGap), "0123456789", maxDigits)
		if end := matchWord(s, runOf(s, numbered, " \t_", maxGap), "input"); end > 0 {
			key, i = Input, end
		} else if end < 0 {
			return Mark{partial: !final}
		}
	}
	if key == NoKeyword {
		return Mark{partial: i < 0 && !final}
	}
	i = runOf(s, runOf(s, i, " \t", maxGap), "0123456789", maxDigits)
	closed := runOf(s, i, "*", maxStars)
	colon := runOf(s, closed, " \t", maxGap)
	end := colon
	for _, c := range [...]string{":", "："} {
		if strings.HasPrefix(s[colon:], c) {
			end = colon + len(c)
		}
	}
	if end == colon {
		return Mark{partial: !final && strings.HasPrefix("：", s[colon:])}
	}
	m := Mark{Key: key, end: end, plain: opened == 0 && isUsual(s)}
	if stars > 0 && closed == i {
		m.end = runOf(s, end, "*", stars)
		m.partial = !final && m.end == len(s) && m.end-end < stars
	}
	return m
}

var words = [...]struct {
	word string
	key  Keyword
}{{"thought", Thought}, {"action", Action}, {"observation", Observation}, {"final answer", Answer}, {"answer", TentativeAnswer}}

// readWord returns the keyword at i and the position after it. The position is -1 if the text ends
// within or before the word.
func readWord(s string, i int) (Keyword, int) {
	if i < len(s) && (s[i] < 'A' || s[i] > 'Z') {
		return NoKeyword, 0
	}
	short := false
	for _, w := range words {
		end := matchWord(s, i, w.word)
		if end > 0 {
			return w.key, end
		}
		short = short || end < 0
	}
	if short {
		return NoKeyword, -1
	}
	return NoKeyword, 0
}

// matchWord matches word, which is in lower case, at i in any letter case. It returns the position
// after it, 0 if there is another word, or -1 if the text ends first.
func matchWord(s string, i int, word string) int {
	for k := range len(word) {
		switch {
		case i+k >= len(s):
			return -1
		case s[i+k]|0x20 != word[k] || s[i+k] == 0:
			return 0
		}
	}
	return i + len(word)
}

// isUsual reports whether a keyword is written with one capital letter.
func isUsual(s string) bool { return len(s) > 1 && s[1] >= 'a' }

// runOf returns the position after at most limit bytes of the set, from i on.
func runOf(s string, i int, set string, limit int) int {
	end := min(len(s), i+limit)
	for i < end && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// Escape puts a backslash before each beginning of a line that would be read as a mark, and before
// the position fence if it is not negative.
func Escape(text string, fence int) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		line := text[at:]
		m := ReadMark(line, true)
		indent := runOf(line, 0, " \t", maxIndent)
		end := strings.IndexByte(line, '\n') + 1
		if end == 0 {
			end = len(line)
		}
		b.WriteString(line[:min(indent, end)])
		if m.escape > 0 || m.Key != NoKeyword && m.Key != TentativeAnswer || m.Fence && at == fence {
			b.WriteByte('\\')
		}
		b.WriteString(line[min(indent, end):end])
		at += end
	}
	return b.String()
}

// Unescape is the inverse of Escape.
func Unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if m := ReadMark(line, true); m.escape > 0 {
			b.WriteString(line[:m.escape-1])
			line = line[m.escape:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// StrayFence returns the position of the last line if that is a fence without a partner, such as
// the end of a code block that began before the text; otherwise -1.
func StrayFence(text string) int {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return -1
	}
	at, last, count := 0, -1, 0
	for line := range strings.Lines(text) {
		switch m := ReadMark(line, true); {
		case m.Fence:
			count++
			last = at
		case !m.blank:
			last = -1
		}
		at += len(line)
	}
	if count%2 == 0 {
		return -1
	}
	return last
}

// SkipFence returns the content of the code block that the text begins with, and its position.
// Without a block it returns the whole text.
func SkipFence(text string) (body string, at int) {
	at = len(text) - len(textscan.TrimLeft(text))
	if !ReadMark(text[at:], true).Fence {
		return text[at:], at
	}
	at = textscan.SkipRun(text, at, text[at])
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	for at < len(text) && (text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z' || textscan.IsDigit(text[at])) {
		at++
	}
	return text[at:], at
}
