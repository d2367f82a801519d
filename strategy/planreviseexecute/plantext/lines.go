package planreviseexecute

import (
	"regexp"
	"strings"
	"unicode"
)

// textLine is a line and what it is by itself.
type textLine struct {
	raw    string // without the line end
	kind   textKind
	indent int // in columns
	level  int // of a title
	textMark
}

type textKind int

const (
	textBlank textKind = iota
	textProse
	textTitle // a heading, a line wholly in emphasis, or one that leads over to a list
	textItem
	textFence // the first line of a code block
	textCode  // the others, with the last one
	textRow   // of a table
	textBreak // a thematic break, or a closing tag alone on its line
)

// Levels of titles. 1 to 6 are headings.
const (
	levelTag      = 0 // <plan>
	levelHeading  = 6
	levelEmphasis = 7 // **Plan**
	levelLead     = 8 // Plan:
)

// readTextLines takes a text apart.
func readTextLines(text string) []textLine {
	lines := make([]textLine, 0, strings.Count(text, "\n")+1)
	var fence textFencing
	number := 0 // of the last item
	for raw := range strings.SplitSeq(text, "\n") {
		if kind := fence.next(raw); kind != textProse {
			lines = append(lines, textLine{raw: raw, kind: kind, indent: textIndent(raw)})
			continue
		}
		l := readTextLine(raw)
		if l.number == 2 && number != 1 {
			lines = splitFirstItem(lines)
		}
		if l.kind == textItem {
			number = l.number
		}
		fence.within(l)
		lines = append(lines, l)
	}
	return lines
}

// splitFirstItem gives an item 1 that begins in the middle of the last line, as in "Plan: 1. a", a
// line of its own.
func splitFirstItem(lines []textLine) []textLine {
	last := len(lines) - 1
	for last >= 0 && lines[last].kind == textBlank {
		last--
	}
	if last < 0 || lines[last].kind != textProse {
		return lines
	}
	at := textInlineItem.FindStringSubmatchIndex(lines[last].raw)
	if at == nil {
		return lines
	}
	lead, item := readTextLine(lines[last].raw[:at[2]]), readTextLine(lines[last].raw[at[2]:])
	item.indent = lead.indent
	return append(lines[:last], lead, item)
}

// textInlineItem finds the first item of a list in the midst of a line.
var textInlineItem = regexp.MustCompile(`\S\s+((?i:\*{0,2}(?:step\s+1\*{0,2}[:.)]|\(?1[.)])\*{0,2}\s+\S))`)

// readTextLine reads a line outside of code.
func readTextLine(raw string) textLine {
	l := textLine{raw: raw, kind: textProse, indent: textIndent(raw)}
	s := strings.TrimSpace(raw)
	switch {
	case s == "":
		l.kind = textBlank
	case isTextBreak(s), strings.HasPrefix(s, "</") && textTag.MatchString(s):
		l.kind = textBreak
	case s[0] == '<' && textTag.MatchString(s):
		l.kind, l.level, l.body = textTitle, levelTag, strings.Trim(s, "<>")
	case s[0] == '|':
		l.kind = textRow
	case s[0] == '#' && textHeading.MatchString(s):
		l.readHeading(s)
	default:
		l.readItem(s)
	}
	return l
}

var (
	textTag     = regexp.MustCompile(`^</?[A-Za-z][\w-]*>$`)
	textHeading = regexp.MustCompile(`^#{1,6}(?:\s|$)`)
)

// isTextBreak reports whether s is a thematic break of Markdown.
func isTextBreak(s string) bool {
	sign := s[:1]
	return strings.Contains("-*_", sign) && strings.Trim(s, sign+" \t") == "" && strings.Count(s, sign) >= 3
}

func (l *textLine) readHeading(s string) {
	title := strings.TrimLeft(s, "#")
	l.indent, l.level = 0, len(s)-len(title)
	title = strings.TrimSpace(strings.TrimRight(title, "#"))
	if m, ok := readTextOrdinal(strings.TrimLeftFunc(title, isTextOrnament)); ok {
		l.kind, l.textMark = textItem, m
		l.rank, l.titled = l.level, true
		return
	}
	l.kind = textTitle
	l.body, _ = cutEmphasis(title)
}

// isTextOrnament reports whether c is blank or decorates a heading, as an emoji does.
func isTextOrnament(c rune) bool {
	return unicode.In(c, unicode.So, unicode.Sk, unicode.Mn, unicode.Cf, unicode.Zs)
}

func (l *textLine) readItem(s string) {
	if m, ok := readTextMark(s); ok {
		l.kind, l.textMark = textItem, m
	} else if title, whole := cutEmphasis(s); whole && l.indent < 2 {
		l.kind, l.level, l.body = textTitle, levelEmphasis, title
	}
}

// textIndent counts the columns of white space before a line.
func textIndent(s string) int {
	column := 0
	for _, c := range s {
		if !unicode.IsSpace(c) {
			break
		}
		column = textColumn(column, c)
	}
	return column
}

// outdent takes up to n columns of white space off a line.
func outdent(s string, n int) string {
	column := 0
	for i, c := range s {
		if column >= n || !unicode.IsSpace(c) {
			return s[i:]
		}
		column = textColumn(column, c)
	}
	return ""
}

// textColumn returns the column after c; a tab goes to the next multiple of four.
func textColumn(column int, c rune) int {
	if c == '\t' {
		return column + 4 - column%4
	}
	return column + 1
}
