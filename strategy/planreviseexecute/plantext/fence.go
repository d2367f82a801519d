package planreviseexecute

import "strings"

// textFencing tells code from text, line by line, by the rules of CommonMark 0.31, section 4.5: a
// fence is three or more backticks or tildes, indented by at most three columns more than the item
// that it stands in, and ends with a fence of the same sign that is at least as long, or with the
// text.
type textFencing struct {
	open   string // the fence of the code that we are in; "" outside
	column int    // where the text of the item begins that we are in
	blank  bool   // the last line was blank
}

// next returns textFence for a line that begins code, textCode for one that goes on or ends it,
// else textProse.
func (f *textFencing) next(raw string) textKind {
	s := strings.TrimSpace(raw)
	info := strings.TrimLeft(s, "`")
	if len(info) == len(s) {
		info = strings.TrimLeft(s, "~")
	}
	fence := s[:len(s)-len(info)]
	near := len(fence) >= 3 && textIndent(raw) <= f.column+3
	switch {
	case f.open != "":
		if near && strings.HasPrefix(fence, f.open) && info == "" {
			f.open = ""
		}
		return textCode
	case near && (fence[0] == '~' || !strings.Contains(info, "`")):
		f.open = fence
		return textFence
	default:
		return textProse
	}
}

// within takes note of a line outside of code.
func (f *textFencing) within(l textLine) {
	switch {
	case l.kind == textItem && l.rank > rankHeading:
		f.column = l.indent + len(strings.TrimSpace(l.raw)) - len(l.body)
		f.column = min(f.column, l.indent+6)
		f.next(l.body) // code may begin on the line of the item
	case l.kind != textBlank && f.blank && l.indent < 2:
		f.column = 0
	}
	f.blank = l.kind == textBlank
}

// unwrapMarkdown returns the content of a text that is one code block of Markdown, any other text
// as it is.
func unwrapMarkdown(text string) string {
	lines := strings.Split(strings.Trim(text, "\n\t "), "\n")
	switch info := strings.ToLower(strings.TrimLeft(lines[0], "`~")); strings.TrimSpace(info) {
	case "markdown", "md":
	default:
		return text
	}
	var f textFencing
	last := len(lines) - 1
	for i, line := range lines {
		if kind := f.next(line); kind == textProse || i < last && f.open == "" {
			return text
		}
	}
	if f.open == "" {
		lines = lines[:last]
	}
	return strings.Join(lines[1:], "\n")
}
