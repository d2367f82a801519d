package markdownpolicy

import "strings"

// keyword is what a line of a ReAct reply begins with.
type keyword uint8

const (
	noKeyword keyword = iota
	keyThought
	keyAction
	keyInput
	keyObservation
	keyAnswer
	keyMaybe // "Answer:", which counts as the final answer only where nothing else does
)

// mark is what stands at the beginning of a line, or of what follows a keyword on its line.
type mark struct {
	key     keyword
	end     int  // behind the keyword, from the beginning of the line
	plain   bool // written as the instructions say: not indented, not bold, in the usual letters
	fence   bool // the line begins or ends a code block
	blank   bool // the line is empty
	escape  int  // a backslash at escape-1 takes the meaning of what follows; 0: none
	partial bool // more text is needed to say
}

// Bounds of what may surround a keyword, so that a look at a line takes constant time.
const (
	maxIndent = 32
	maxHashes = 6
	maxStars  = 3
	maxDigits = 4
	maxGap    = 4
)

// readMark looks at the beginning of line, which may be followed by more lines. final says that
// nothing follows the text.
func readMark(line string, final bool) mark {
	indent := runOf(line, 0, " \t", maxIndent)
	body := line[indent:]
	if body == "" {
		return mark{partial: !final}
	}
	switch body[0] {
	case '\n':
		return mark{blank: true}
	case '\r':
		return mark{blank: len(body) > 1 && body[1] == '\n', partial: len(body) == 1 && !final}
	case '\\':
		return readEscape(line, indent, final)
	case '`', '~':
		return readFence(body, final)
	case '#', '*', 'T', 'A', 'O', 'F':
		m := readKeyword(body, final)
		m.plain = m.plain && indent == 0
		m.end += indent
		return m
	}
	return mark{}
}

// readEscape looks at backslashes: they escape what would be a mark without them.
func readEscape(line string, at int, final bool) mark {
	rest := strings.TrimLeft(line[at:], `\`)
	if rest == "" {
		return mark{partial: !final}
	}
	m := mark{}
	switch rest[0] {
	case '`', '~':
		m = readFence(rest, final)
	default:
		m = readKeyword(rest, final)
	}
	if m.fence || m.key != noKeyword && m.key != keyMaybe {
		return mark{escape: at + 1}
	}
	return mark{partial: m.partial}
}

func readFence(body string, final bool) mark {
	n := runOf(body, 0, body[:1], 3)
	return mark{fence: n == 3, partial: n < 3 && n == len(body) && !final}
}

// readKeyword reads forms such as "Thought:", "**Action:**", "### Action 2 Input:".
func readKeyword(s string, final bool) mark {
	i := runOf(s, 0, "#", maxHashes)
	i = runOf(s, i, " \t", maxGap)
	opened := runOf(s, i, "*", maxStars)
	stars := opened - i
	key, i := readWord(s, opened)
	if key == keyAction {
		numbered := runOf(s, runOf(s, i, " \t_", maxGap), "0123456789", maxDigits)
		if end := matchWord(s, runOf(s, numbered, " \t_", maxGap), "input"); end > 0 {
			key, i = keyInput, end
		} else if end < 0 {
			return mark{partial: !final}
		}
	}
	if key == noKeyword {
		return mark{partial: i < 0 && !final}
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
		return mark{partial: !final && strings.HasPrefix("：", s[colon:])}
	}
	m := mark{key: key, end: end, plain: opened == 0 && isUsual(s)}
	if stars > 0 && closed == i {
		m.end = runOf(s, end, "*", stars)
		m.partial = !final && m.end == len(s) && m.end-end < stars
	}
	return m
}

var words = [...]struct {
	word string
	key  keyword
}{{"thought", keyThought}, {"action", keyAction}, {"observation", keyObservation}, {"final answer", keyAnswer}, {"answer", keyMaybe}}

// readWord returns the keyword at i and the place behind it; the place is -1 if the text ends
// within a word, or before it.
func readWord(s string, i int) (keyword, int) {
	if i < len(s) && (s[i] < 'A' || s[i] > 'Z') {
		return noKeyword, 0
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
		return noKeyword, -1
	}
	return noKeyword, 0
}

// matchWord matches word, which is in small letters, at i in any letters. It returns the place
// behind it, 0 if there is another word, or -1 if the text ends first.
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

// isUsual reports whether a keyword is written with one large letter.
func isUsual(s string) bool { return len(s) > 1 && s[1] >= 'a' }

// runOf returns the place behind at most limit bytes of the set, from i on.
func runOf(s string, i int, set string, limit int) int {
	end := min(len(s), i+limit)
	for i < end && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// escapeMarks puts a backslash before what would read as a mark at the beginning of a line, and
// before fence, a place in the text, if it is not negative.
func escapeMarks(text string, fence int) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		line := text[at:]
		m := readMark(line, true)
		indent := runOf(line, 0, " \t", maxIndent)
		end := strings.IndexByte(line, '\n') + 1
		if end == 0 {
			end = len(line)
		}
		b.WriteString(line[:min(indent, end)])
		if m.escape > 0 || m.key != noKeyword && m.key != keyMaybe || m.fence && at == fence {
			b.WriteByte('\\')
		}
		b.WriteString(line[min(indent, end):end])
		at += end
	}
	return b.String()
}

// unescapeMarks is the inverse of escapeMarks.
func unescapeMarks(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if m := readMark(line, true); m.escape > 0 {
			b.WriteString(line[:m.escape-1])
			line = line[m.escape:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// strayFence returns the place of the last line if it is a fence without a partner, as the end of a
// block that began before the text is; else -1.
func strayFence(text string) int {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return -1
	}
	at, last, count := 0, -1, 0
	for line := range strings.Lines(text) {
		switch m := readMark(line, true); {
		case m.fence:
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
