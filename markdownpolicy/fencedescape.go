package markdownpolicy

// fencedEscape finds out where backslashes must stand in a text that is to be read as text.
type fencedEscape struct {
	*fencedSyntax
	unclosed map[byte]int // the least length of a run from which on no block is closed
	patience int          // how many bytes may still be looked at behind braces
}

// literalEnd returns the place up to which what stands at a mark may be written as it is; the place of the mark if a
// backslash must stand before it.
func (e *fencedEscape) literalEnd(text string, at int) int {
	s, c := e.fencedSyntax, text[at]
	isFence := c == '`' || c == '~'
	if n, ok := e.unclosed[c]; isFence && ok && skipRun(text, at, c)-at >= n {
		return at
	}
	if (c == '{' || c == '[') && e.patience < 0 {
		return e.hasty(text, at)
	}
	block := s.begin(text, at)
	v := block.read(text, true)
	if !isFence {
		e.patience -= max(v.seen, v.end) - at
	} else {
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

// hasty is literalEnd for a brace or a bracket where patience is used up, without a look at what stands behind the first key.
func (e *fencedEscape) hasty(text string, at int) int {
	object := at
	if text[at] == '[' {
		object = skipBlanks(text, at+1)
	}
	if callKey(text[object:]) == markFound {
		return at
	}
	return at + 1
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
