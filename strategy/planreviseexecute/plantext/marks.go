package planreviseexecute

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textMark is what an item begins with.
type textMark struct {
	rank   int
	number int    // 0 for bullets
	label  bool   // the number has a label, such as Step
	titled bool   // the body is a title: the next line is not part of its sentence
	body   string // what follows, without its markup
}

// Ranks of items: at the same indentation, an item of a higher rank is part of one of a lower. 1 to
// 6 are headings.
const (
	rankHeading = 6
	rankPhase   = 7 // Phase 1: a
	rankStep    = 8 // Step 1: a
	rankStrong  = 9 // **1. a**
	rankNumber  = 10
	rankBullet  = 11
)

var (
	textBullet = regexp.MustCompile(`^(?:[-*+](?:\s+|$)|[•◦▪‣]\s*)`)
	textBox    = regexp.MustCompile(`^\[[ xX]\](?:\s+|$)`)

	// The word, the number, and the asterisks after it.
	textLabel  = regexp.MustCompile(`^(?i:(step|task|phase|stage))\s+#?(\d{1,3})(\*{0,3})\s*(?:[:.)]|[-–—](?:\s|$)|$)`)
	textNumber = regexp.MustCompile(`^()\(?(\d{1,3})(\*{0,3})[.)]`)
)

// readTextMark reads the beginning of an item. A bullet before a number does not count.
func readTextMark(s string) (textMark, bool) {
	bullet := textBullet.FindString(s)
	rest := withoutBox(s[len(bullet):])
	if m, ok := readTextOrdinal(rest); ok || bullet == "" {
		return m, ok
	}
	m := textMark{rank: rankBullet}
	m.body, m.titled = cutEmphasis(rest)
	return m, true
}

// readTextOrdinal reads an item that begins with a number, which may have a label, an emphasis, or
// both.
func readTextOrdinal(s string) (textMark, bool) {
	rest := strings.TrimLeft(s, "*")
	stars := s[:len(s)-len(rest)]
	m := textMark{label: true}
	found := textLabel.FindStringSubmatch(rest)
	if found == nil {
		m.label = false
		found = textNumber.FindStringSubmatch(rest)
	}
	if found == nil {
		return m, false
	}
	rest = rest[len(found[0]):]
	open := stars != "" && found[3] == "" // the emphasis goes on after the number
	if open && strings.HasPrefix(rest, stars) {
		rest, open = rest[len(stars):], false
	}
	if strings.ContainsAny(found[0][len(found[0])-1:], ".)") && !mayFollowNumber(rest) {
		return m, false
	}
	m.number, _ = strconv.Atoi(found[2])
	m.rank = rankOf(strings.ToLower(found[1]), stars)
	m.readBody(withoutBox(strings.TrimSpace(rest)), stars, open)
	return m, true
}

// mayFollowNumber tells the text after a number and a point from the rest of 1.5 and of 2.x.
func mayFollowNumber(s string) bool {
	next, _ := utf8.DecodeRuneInString(s)
	return s == "" || unicode.IsSpace(next) || next == '*' || unicode.IsLetter(next) && !unicode.IsLower(next)
}

func rankOf(label, stars string) int {
	switch {
	case label == "phase" || label == "stage":
		return rankPhase
	case label != "":
		return rankStep
	case stars != "":
		return rankStrong
	default:
		return rankNumber
	}
}

// readBody reads the text after a number. If open, it is in the emphasis that began before the
// number.
func (m *textMark) readBody(s, stars string, open bool) {
	if open {
		m.body, m.titled = endEmphasis(s, stars)
		return
	}
	m.body, m.titled = cutEmphasis(s)
	if m.label || !textLabel.MatchString(m.body) {
		return
	}
	if inner, ok := readTextOrdinal(m.body); ok && inner.body != "" { // 1. Step 1: a
		m.body = inner.body
	}
}

func withoutBox(s string) string { return s[len(textBox.FindString(s)):] }

// cutEmphasis takes off the asterisks around the beginning of s; whole says that they are around
// all of it.
func cutEmphasis(s string) (text string, whole bool) {
	text = strings.TrimLeft(s, "*")
	stars := s[:len(s)-len(text)]
	if stars == "" || len(stars) > 3 {
		return s, false
	}
	if rest, whole := endEmphasis(text, stars); rest != text && text[0] != ' ' {
		return rest, whole
	}
	return s, false
}

// endEmphasis takes out the asterisks that end an emphasis; whole says that nothing follows them.
func endEmphasis(s, stars string) (text string, whole bool) {
	for from := 1; from < len(s); {
		at := strings.Index(s[from:], stars)
		if at < 0 {
			break
		}
		at += from
		if s[at-1] != ' ' {
			rest := s[at+len(stars):]
			return s[:at] + rest, strings.Trim(rest, ":. ") == ""
		}
		from = at + len(stars)
	}
	return s, false
}
