package plantext

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// line is a line of a text and its kind.
type line struct {
	raw    string // without the line end
	kind   kind
	indent int    // in columns
	rank   int    // of an item or a title
	number int    // of an item; 0 for a bullet
	body   string // the text of an item after the number or bullet, without the asterisks around its title
}

type kind int

const (
	blank kind = iota
	prose
	title // a heading, a line in emphasis, or a line that introduces a list
	item
	code // including the fences
	end  // a thematic break, or a tag alone on its line
)

// Ranks of items: an item of a higher rank is part of one of a lower rank. 1 to 6 are headings.
const (
	rankHeading = 6
	rankLabel   = 7 // Step 1: a
	rankNumber  = 8
	rankBullet  = 9
)

// Ranks of titles that are not headings.
const (
	rankEmphasis = 7 // **Plan**
	rankLead     = 8 // Plan:
)

var (
	fenceMark   = regexp.MustCompile("^(?:`{3,}|~{3,})")
	headingMark = regexp.MustCompile(`^#{1,6}(?:\s|$)`)
	breakLine   = regexp.MustCompile(`^(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|</?[A-Za-z][\w-]*>)$`)
	bulletMark  = regexp.MustCompile(`^(?:[-*+](?:\s+|$)|[•◦▪‣]\s*)(?:\[[ xX]\]\s+)?`)
	numberMark  = regexp.MustCompile(`^\(?(\d{1,3})[.)](?:\s+|$)`)
	labelMark   = regexp.MustCompile(`^(?i:step|phase|task|stage)\s+(\d{1,3})\s*(?:[:)]|[-.–—](?:\s|$)|$)`)
	emphasis    = regexp.MustCompile(`^\*{1,3}([^*\s](?:[^*]*[^*\s])?)\*{1,3}`)
)

// readLines splits a text into lines and determines their kinds.
func readLines(text string) []line {
	var lines []line
	fence := "" // of the open code block
	for raw := range strings.SplitSeq(text, "\n") {
		s := strings.TrimSpace(raw)
		l := line{raw: raw, kind: code, indent: indentOf(raw)}
		mark := fenceMark.FindString(s)
		switch {
		case fence == "" && mark != "" && !strings.Contains(s[len(mark):], "`"):
			fence = mark
		case fence == "":
			l.read(s)
		case strings.HasPrefix(mark, fence) && mark == s:
			fence = ""
		}
		lines = append(lines, l)
	}
	return lines
}

// read determines the kind of a line outside of code; s is its text without surrounding blanks.
func (l *line) read(s string) {
	l.kind = prose
	switch {
	case s == "":
		l.kind = blank
	case breakLine.MatchString(s):
		l.kind = end
	case headingMark.MatchString(s):
		text := strings.TrimLeft(s, "#")
		rank := len(s) - len(text)
		text, _ = withoutEmphasis(strings.TrimLeftFunc(strings.TrimRight(text, "# \t"), isOrnament))
		l.indent, l.kind = 0, title
		l.readNumber(text)
		l.rank = rank
	default:
		bullet := bulletMark.FindString(s)
		text, whole := withoutEmphasis(s[len(bullet):])
		l.readNumber(text)
		switch {
		case l.kind == item: // a bullet before a number is ignored
		case bullet != "":
			l.kind, l.rank, l.body = item, rankBullet, text
		case whole && l.indent < 2:
			l.kind, l.rank = title, rankEmphasis
		}
	}
}

// isOrnament reports whether c is a blank or decorates a heading, as an emoji does.
func isOrnament(c rune) bool {
	return unicode.In(c, unicode.So, unicode.Sk, unicode.Mn, unicode.Cf, unicode.Zs)
}

// readNumber reads the beginning of a numbered item.
func (l *line) readNumber(s string) {
	l.rank = rankLabel
	m := labelMark.FindStringSubmatch(s)
	if m == nil {
		l.rank = rankNumber
		m = numberMark.FindStringSubmatch(s)
	}
	if m != nil {
		l.kind = item
		l.number, _ = strconv.Atoi(m[1])
		l.body, _ = withoutEmphasis(strings.TrimSpace(s[len(m[0]):]))
	}
}

// withoutEmphasis removes the asterisks around the beginning of s; whole means that they surround
// all of it.
func withoutEmphasis(s string) (text string, whole bool) {
	at := emphasis.FindStringSubmatchIndex(s)
	if at == nil {
		return s, false
	}
	rest := s[at[1]:]
	return s[at[2]:at[3]] + rest, strings.Trim(rest, ":. ") == ""
}

// indentOf counts the columns of white space before a line.
func indentOf(s string) int {
	column := 0
	for _, c := range s {
		if !unicode.IsSpace(c) {
			break
		}
		column = columnAfter(c, column)
	}
	return column
}

// outdent removes up to n columns of white space from a line.
func outdent(s string, n int) string {
	column := 0
	for i, c := range s {
		if column >= n || !unicode.IsSpace(c) {
			return s[i:]
		}
		column = columnAfter(c, column)
	}
	return ""
}

// columnAfter returns the column after c; a tab extends to the next multiple of four.
func columnAfter(c rune, column int) int {
	if c == '\t' {
		return column + 4 - column%4
	}
	return column + 1
}
