package markdownpolicy

import "strings"

// fencedEscape finds out where backslashes must stand in a text that is to be read as text.
type fencedEscape struct {
	*fencedSyntax
	written  *strings.Builder // what stands before, as it will be read: with backslashes
	unclosed map[byte]int     // the least length of a run from which on no block is closed
}

// literalEnd returns the place up to which what stands at a mark may be written as it is; the place
// of the mark if a backslash must stand before it.
func (e *fencedEscape) literalEnd(text string, at int) int {
	s, c := e.fencedSyntax, text[at]
	isFence := c == '`' || c == '~'
	if n, ok := e.unclosed[c]; isFence && ok && skipRun(text, at, c)-at >= n {
		return at
	}
	block := e.begin(text, at)
	v := block.read(text, true)
	if isFence {
		fenced := block.(*fencedBlock)
		f := &fenced.fence
		if s.inCode {
			s.inCode = s.code.find(text, true)
			f = &s.code
		}
		if fenced.cut || f.state != fenceClosed && f.state != fenceNone {
			e.unclosed[c] = f.length
			return at
		}
	}
	if v.kind != isText {
		return at
	}
	return v.end
}

// begin is that of the syntax, but tells what is shown from what is written: a backslash before a fence moves the code that
// begins with it.
func (e *fencedEscape) begin(text string, at int) block {
	if c := text[at]; c == '{' || c == '[' {
		return e.beginObject(text, at, e.tools != nil && e.prose.shows(e.written.String(), e.written.Len()))
	}
	return e.fencedSyntax.begin(text, at)
}

// markLength returns the length of the mark at a place, without what may follow a fence of three.
func (s *fencedSyntax) markLength(text string, at int) int {
	switch text[at] {
	case '\\':
		return 1 + s.markLength(text, at+1)
	case '{':
		return 1
	case '[': // and the brace
		return skipBlanks(text, at+1) + 1 - at
	default:
		return 3
	}
}
