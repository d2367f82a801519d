package markdownpolicy

// bracketMark says whether the bracket at a place is a mark: the beginning of a list of objects,
// the first of which may be a call.
func bracketMark(text string, at int, escaped bool) markKind {
	switch yes, wait := beginsObjects(text, at); {
	case wait:
		return markMaybe
	case !yes:
		return markNone
	case escaped:
		return callKey(text[skipBlanks(text, at+1):])
	default:
		return markFound
	}
}

// listBlock is a list of objects in prose.
type listBlock struct {
	syntax *fencedSyntax
	at     int
	shown  bool // to the user, as code or a quotation
}

func (b *listBlock) read(text string, final bool) verdict {
	if b.shown {
		return verdict{kind: isText, end: b.at + 1}
	}
	none := verdict{kind: isText, end: b.at + 1}
	end, state := b.syntax.objects.end(text, b.at)
	switch {
	case state == scanMore && !final:
		return verdict{}
	case state != scanDone || !b.syntax.exactAll(text[b.at:end]):
		return none
	}
	if goes, wait := jsonGoesOn(text, end, final); goes || wait {
		if wait {
			return verdict{}
		}
		return none
	}
	v := verdict{kind: isParts, end: end}
	for offset, object := range elements(text[b.at:end]) {
		call, repairs, err := fencedForm.read(object, b.at+offset, ModeError)
		if err != nil {
			return none
		}
		v.parts = append(v.parts, Part{Content: call, Start: b.at + offset})
		v.repairs = append(v.repairs, repairs...)
	}
	share(v.parts, b.at, v.end)
	return v
}

// exactAll reports whether valid JSON is an object as exact says, or a list of such.
func (s *fencedSyntax) exactAll(text string) bool {
	if text[0] == '{' {
		return s.exact(text)
	}
	for pos := skipBlanks(text, 1); text[pos] != ']'; pos = skipBlanks(text, pos) {
		if text[pos] == ',' {
			pos = skipBlanks(text, pos+1)
		}
		if text[pos] != '{' { // the end of which is not looked for
			return false
		}
		end := valueEnd(text, pos)
		if !s.exact(text[pos:end]) {
			return false
		}
		pos = end
	}
	return true
}

// share divides what stands between two places among the calls in it: each goes to the next, so
// that the marks and commas around them belong to one.
func share(calls []Part, start, end int) {
	for i := range calls {
		calls[i].End = end
		if i > 0 {
			calls[i-1].End = calls[i].Start
		}
	}
	calls[0].Start = start
}
