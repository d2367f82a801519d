package markdownpolicy

import "strings"

// jsonGoesOn reports whether a JSON object goes on behind what seemed to be its end: with a comma or with brackets that
// nothing opened, and then with the key of a member. One bracket too many ends an object early: what stands behind it was
// meant to be in it. wait says that more of the text has to come to tell.
func jsonGoesOn(text string, pos int, final bool) (yes, wait bool) {
	const most = 16 // brackets and blanks
	window := text[pos:min(len(text), pos+most)]
	gap := window[:len(window)-len(strings.TrimLeft(window, "]} \t\r\n"))]
	h := header{text: text, pos: pos + len(gap)}
	if h.pos == len(text) {
		return false, !final
	}
	if !h.skip(',') && !strings.ContainsAny(gap, "]}") {
		return false, false
	}
	_, yes = h.key()
	return yes, !yes && h.partly && !final
}

// pythonGoesOn is jsonGoesOn for a list of calls in Python: behind a comma stands the name of an argument.
func pythonGoesOn(text string, pos int, final bool) (yes, wait bool) {
	h := pyHeader{text: text, pos: pos}
	switch {
	case !h.skip(",") || h.name() == "" || !h.skip("="):
		return false, h.partly && !final
	case h.pos == len(text):
		return final, !final
	default:
		return text[h.pos] != '=', false // no comparison
	}
}

// goesOnError says that something goes on behind what ended a call.
func goesOnError(text string, pos int) *ParseError {
	return brokenFrom(text, pos, "the end of the call, with all arguments before it")
}

// markAhead finds out whether something that lacks its closing mark at a place has one behind that, before another opening mark.
// All looks together take linear time.
type markAhead struct{ open, closing finder }

func newMarkAhead(open, closing string) *markAhead {
	return &markAhead{finder{mark: open}, finder{mark: closing}}
}

// closes reports whether the closing mark comes first. wait says that more of the text has to come to tell.
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
