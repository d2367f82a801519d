package markdownpolicy

import "strings"

// This file reads fenced code blocks as CommonMark 0.31.2, section 4.5, says
// (https://spec.commonmark.org/0.31.2/), outside of quotations and lists. One more form is read,
// which models write: a whole block on one line.

// fence is a fenced code block that is read while it arrives. The zero value with start, the place
// of the first mark character of its opening line, is ready.
type fence struct {
	start  int
	length int    // of the opening run
	indent int    // blanks before it
	info   string // trimmed
	body   int    // where the content begins
	close  int    // where the content ends, once it is closed: the beginning of the closing line
	end    int    // the place behind the closing run and the blanks behind it

	pos   int // looked at so far
	state fenceState
	run   int // the place of the run that may close the block
}

type fenceState uint8

const (
	fenceRun     fenceState = iota // in the opening run
	fenceInfo                      // behind it, on the same line
	fenceBody                      // looking for a run that may close it
	fenceClosing                   // in such a run
	fenceTail                      // behind it, on the same line
	fenceClosed
	fenceNone // it is none
)

// open reads the opening line, and returns false while it is not all there. It ends in the state
// fenceBody or fenceNone.
func (f *fence) open(text string, final bool) bool {
	if f.state == fenceRun {
		f.pos = max(f.pos, f.start)
		f.pos = skipRun(text, f.pos, text[f.start])
		if f.pos == len(text) && !final {
			return false
		}
		f.length, f.state = f.pos-f.start, fenceInfo
		f.indent = f.start - lineStart(text, f.start)
	}
	if f.state != fenceInfo {
		return true
	}
	eol := len(text)
	if i := strings.IndexAny(text[f.pos:], "\r\n"); i >= 0 {
		eol = f.pos + i
	}
	f.pos = eol
	body := eol + lineBreak(text, eol)
	if !final && (body == eol || text[eol] == '\r' && body == len(text)) {
		return false
	}
	f.info, f.state = trimBlanks(text[f.start+f.length:eol]), fenceBody
	if text[f.start] == '`' && strings.IndexByte(f.info, '`') >= 0 {
		f.state = fenceNone
	}
	f.body, f.pos = body, body
	return true
}

// find looks for the closing line, and returns false while it has not come. Before, the opening
// line must have been read.
func (f *fence) find(text string, final bool) bool {
	for f.state != fenceClosed {
		switch f.state {
		case fenceBody:
			i := strings.Index(text[f.pos:], strings.Repeat(text[f.start:f.start+1], 3))
			if i < 0 {
				f.pos = max(f.pos, len(text)-2)
				return false
			}
			f.run = f.pos + i
			f.pos, f.state = f.run+3, fenceClosing
		case fenceClosing:
			f.pos = skipRun(text, f.pos, text[f.start])
			if f.pos == len(text) && !final {
				return false
			}
			f.state = fenceTail
			if line := lineStart(text, f.run); f.pos-f.run < f.length || line < f.body {
				f.state = fenceBody
			}
		default:
			for f.pos < len(text) && (text[f.pos] == ' ' || text[f.pos] == '\t') {
				f.pos++
			}
			if f.pos == len(text) && !final {
				return false
			}
			f.state = fenceBody
			if f.pos == len(text) || lineBreak(text, f.pos) > 0 {
				f.state, f.close, f.end = fenceClosed, lineStart(text, f.run), f.pos
			}
		}
	}
	return true
}

// content returns what stands in the block, without the indentation of the opening line. Of a block
// that is not closed it is the rest of the text.
func (f *fence) content(text string) string {
	raw := f.raw(text)
	if f.indent == 0 {
		return raw
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(raw, "\n") {
		n := 0
		for n < f.indent && n < len(line) && line[n] == ' ' {
			n++
		}
		b.WriteString(line[n:])
	}
	return b.String()
}

// raw is content as it stands there.
func (f *fence) raw(text string) string {
	if f.state == fenceClosed {
		return text[f.body:f.close]
	}
	return text[f.body:]
}

// lineStart returns the beginning of the line of a place, if there are at most three blanks before
// it, else -1.
func lineStart(text string, at int) int {
	line := at
	for line > 0 && at-line < 4 && text[line-1] == ' ' {
		line--
	}
	if at-line < 4 && (line == 0 || text[line-1] == '\n' || text[line-1] == '\r') {
		return line
	}
	return -1
}

// lineBreak returns the length of the line break at a place, or 0.
func lineBreak(text string, at int) int {
	switch {
	case strings.HasPrefix(text[at:], "\r\n"):
		return 2
	case at < len(text) && (text[at] == '\n' || text[at] == '\r'):
		return 1
	default:
		return 0
	}
}

// skipRun returns the place behind the characters c at a place.
func skipRun(text string, at int, c byte) int {
	for at < len(text) && text[at] == c {
		at++
	}
	return at
}

// writeFence writes a block whose content may be anything.
func writeFence(info, content string) string {
	longest := 2
	for rest := content; ; {
		i := strings.IndexByte(rest, '`')
		if i < 0 {
			break
		}
		n := skipRun(rest, i, '`')
		longest = max(longest, n-i)
		rest = rest[n:]
	}
	marks := strings.Repeat("`", longest+1)
	return marks + info + "\n" + content + "\n" + marks
}
