package markdownpolicy

import "encoding/json"

// bracketMark says whether the bracket at a place is a mark: the beginning of a list of objects, the first of which may be a
// call.
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
	scan   objectScan
	shown  bool // to the user, as code or a quotation
}

func (b *listBlock) read(text string, final bool) verdict {
	if b.shown {
		return verdict{kind: isText, end: b.at + 1}
	}
	state := b.scan.scan(text)
	if state == scanMore && !final {
		return verdict{}
	}
	none := verdict{kind: isText, end: b.at + 1, seen: b.scan.pos}
	if state != scanDone {
		return none
	}
	list := text[b.at:b.scan.pos]
	if !json.Valid([]byte(list)) || !b.syntax.exactAll(list) {
		return none
	}
	v := verdict{kind: isParts, end: b.scan.pos}
	for offset, object := range elements(list) {
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
	for _, element := range elements(text) {
		if element[0] != '{' || !s.exact(element) {
			return false
		}
	}
	return true
}

// share divides what stands between two places among the calls in it: each goes to the next, so that the marks and commas
// around them belong to one.
func share(calls []Part, start, end int) {
	for i := range calls {
		calls[i].End = end
		if i > 0 {
			calls[i-1].End = calls[i].Start
		}
	}
	calls[0].Start = start
}
