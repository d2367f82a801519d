package markdownpolicy

import "strings"

// jsonGoesOn reports whether a JSON object goes on behind what seemed to be its end: on the same
// line with a comma or with brackets that nothing opened, and then with the key of a member. One
// bracket too many ends an object early: what stands behind it was meant to be in it. wait says
// that more of the text has to come to tell.
func jsonGoesOn(text string, pos int, final bool) (yes, wait bool) {
	const most = 16 // brackets and blanks
	at, wait := onTheLine(text, pos, final)
	if at < 0 {
		return false, wait
	}
	window := text[at:min(len(text), at+most)]
	gap := window[:len(window)-len(strings.TrimLeft(window, "]} \t\r\n"))]
	h := header{text: text, pos: at + len(gap)}
	if h.pos == len(text) {
		return false, !final
	}
	if !h.skip(',') && gap == "" {
		return false, false
	}
	_, yes = h.key()
	return yes, !yes && h.partly && !final
}

// pythonGoesOn is jsonGoesOn for a list of calls in Python: behind a comma stands the name of an
// argument.
func pythonGoesOn(text string, pos int, final bool) (yes, wait bool) {
	at, wait := onTheLine(text, pos, final)
	if at < 0 {
		return false, wait
	}
	h := pyHeader{text: text, pos: at}
	switch {
	case !h.skip(",") || h.name() == "" || !h.skip("="):
		return false, h.partly && !final
	case h.pos == len(text):
		return final, !final
	default:
		return text[h.pos] != '=', false // no comparison
	}
}

// onTheLine returns the place of the comma or closing bracket that stands behind a call on its
// line, or -1: text on a line of its own does not go on with a call. wait says that more has to
// come to tell.
func onTheLine(text string, pos int, final bool) (at int, wait bool) {
	const most = 16 // blanks
	for at = pos; at < len(text) && at < pos+most && (text[at] == ' ' || text[at] == '\t'); at++ {
	}
	if at == len(text) {
		return -1, !final
	}
	if strings.IndexByte(",]}", text[at]) < 0 {
		return -1, false
	}
	return at, false
}

// goesOnError says that something goes on behind what ended a call.
func goesOnError(text string, pos int) *ParseError {
	return brokenFrom(text, pos, "the end of the call, with all arguments before it")
}

// markAhead finds out whether something that lacks its closing mark at a place has one behind that,
// before another opening mark. All looks together take linear time.
type markAhead struct{ open, closing finder }

func newMarkAhead(open, closing string) *markAhead {
	return &markAhead{finder{mark: open}, finder{mark: closing}}
}

// closes reports whether the closing mark comes first. wait says that more of the text has to come
// to tell.
func (m *markAhead) closes(text string, pos int, final bool) (yes, wait bool) {
	limit := len(text)
	opening := m.open.next(text, pos)
	if opening >= 0 {
		limit = opening
	}
	if m.closing.next(text[:limit], pos) >= 0 {
		return true, false
	}
	return false, opening < 0 && !final
}
