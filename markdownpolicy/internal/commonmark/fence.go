// Package commonmark finds code in texts by the rules of CommonMark 0.31.2
// (https://spec.commonmark.org/0.31.2/). It finds fenced code blocks while they arrive (section
// 4.5, outside of quotations and lists), and the parts of a line that are shown as code or as a
// quotation.
package commonmark

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// Fence is a fenced code block that is read while it arrives. A Fence with only Start set is ready
// to use.
type Fence struct {
	Start  int    // the position of the first fence character of the opening line
	Length int    // of the opening run
	Info   string // trimmed
	Body   int    // where the content begins
	Close  int    // where the content ends, once the block is closed: the beginning of the closing line
	End    int    // the position after the closing run and the blanks after it

	indent int // blanks before the opening run
	pos    int // the text before it was read
	state  fenceState
	run    int // the position of the run that may close the block
}

type fenceState uint8

const (
	inOpeningRun  fenceState = iota
	behindOpening            // on the same line
	inBody                   // looking for a run that may close the block
	inClosingRun             // in such a run
	behindClosing            // on the same line
	closed
	none // it is not a block
)

// Closed reports whether the end of the block is known.
func (f *Fence) Closed() bool { return f.state == closed }

// None reports whether the text at Start is not a block.
func (f *Fence) None() bool { return f.state == none }

// CloseAt closes the block. Its content extends from body to end; behind is the position after the
// block.
func (f *Fence) CloseAt(body, end, behind int) {
	f.state, f.Body, f.Close, f.End = closed, body, end, behind
}

// ReadOpening reads the opening line. It returns false until the line is complete. Afterwards the
// state is inBody or none.
func (f *Fence) ReadOpening(text string, final bool) bool {
	if f.state == inOpeningRun {
		f.pos = max(f.pos, f.Start)
		f.pos = textscan.SkipRun(text, f.pos, text[f.Start])
		if f.pos == len(text) && !final {
			return false
		}
		f.Length, f.state = f.pos-f.Start, behindOpening
		f.indent = f.Start - LineStart(text, f.Start)
	}
	if f.state != behindOpening {
		return true
	}
	eol := len(text)
	if i := strings.IndexAny(text[f.pos:], "\r\n"); i >= 0 {
		eol = f.pos + i
	}
	f.pos = eol
	body := eol + LineBreak(text, eol)
	if !final && (body == eol || text[eol] == '\r' && body == len(text)) {
		return false
	}
	f.Info, f.state = textscan.Trim(text[f.Start+f.Length:eol]), inBody
	if text[f.Start] == '`' && strings.IndexByte(f.Info, '`') >= 0 {
		f.state = none
	}
	f.Body, f.pos = body, body
	return true
}

// FindEnd searches for the closing line. It returns false until the line has come. The opening line
// must have been read before.
func (f *Fence) FindEnd(text string, final bool) bool {
	for f.state != closed {
		switch f.state {
		case inBody:
			i := strings.Index(text[f.pos:], strings.Repeat(text[f.Start:f.Start+1], 3))
			if i < 0 {
				f.pos = max(f.pos, len(text)-2)
				return false
			}
			f.run = f.pos + i
			f.pos, f.state = f.run+3, inClosingRun
		case inClosingRun:
			f.pos = textscan.SkipRun(text, f.pos, text[f.Start])
			if f.pos == len(text) && !final {
				return false
			}
			f.state = behindClosing
			if line := LineStart(text, f.run); f.pos-f.run < f.Length || line < f.Body {
				f.state = inBody
			}
		default:
			for f.pos < len(text) && (text[f.pos] == ' ' || text[f.pos] == '\t') {
				f.pos++
			}
			if f.pos == len(text) && !final {
				return false
			}
			f.state = inBody
			if f.pos == len(text) || LineBreak(text, f.pos) > 0 {
				f.state, f.Close, f.End = closed, LineStart(text, f.run), f.pos
			}
		}
	}
	return true
}

// Content returns the content of the block without the indentation of the opening line. For a block
// that is not closed, it returns the rest of the text.
func (f *Fence) Content(text string) string {
	raw := f.Raw(text)
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

// Raw returns the content as written in the text.
func (f *Fence) Raw(text string) string {
	if f.state == closed {
		return text[f.Body:f.Close]
	}
	return text[f.Body:]
}

// LineStart returns the beginning of the line of a position if at most three blanks precede the
// position, and -1 otherwise.
func LineStart(text string, at int) int {
	line := at
	for line > 0 && at-line < 4 && text[line-1] == ' ' {
		line--
	}
	if at-line < 4 && (line == 0 || text[line-1] == '\n' || text[line-1] == '\r') {
		return line
	}
	return -1
}

// LineBreak returns the length of the line break at a position, or 0.
func LineBreak(text string, at int) int {
	switch {
	case strings.HasPrefix(text[at:], "\r\n"):
		return 2
	case at < len(text) && (text[at] == '\n' || text[at] == '\r'):
		return 1
	default:
		return 0
	}
}

// WriteFence writes a block with any content.
func WriteFence(info, content string) string {
	longest := 2
	for rest := content; ; {
		i := strings.IndexByte(rest, '`')
		if i < 0 {
			break
		}
		n := textscan.SkipRun(rest, i, '`')
		longest = max(longest, n-i)
		rest = rest[n:]
	}
	marks := strings.Repeat("`", longest+1)
	return marks + info + "\n" + content + "\n" + marks
}
