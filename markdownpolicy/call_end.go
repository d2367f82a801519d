package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// This file finds the ends of calls between marks: the end mark of a call is the one after its last
// value. Values may contain end marks.

// plain searches for the end of a body that is not JSON: the first closing mark to which it can be
// read, or else the first that is in no value. In ModeRepair, what precedes the first mark may be
// repaired.
func (b *callBlock) plain(text string, final bool) verdict {
	for {
		at, mark := firstMark(b.ends, text, max(b.pos, b.tried))
		switch {
		case at < 0 && !final:
			return verdict{}
		case at < 0:
			at = len(text)
		}
		if b.limited && strings.Contains(text[b.after:at], text[b.start:b.after]) {
			return b.broken(broken(b.pos, b.ends[0].Mark, "", nil), b.after)
		}
		first := b.within == nil
		if first {
			b.first, b.within = at, valuesOf(text[:at], b.pos)
		}
		within := b.within(text[:at])
		if first || !within {
			v, err := b.readTo(text[b.pos:at], at, mark)
			if err == nil {
				return v
			}
			if first {
				b.err = err
			}
		}
		if b.tried = at + len(mark); within && mark != "" && !b.limited {
			continue
		}
		_, mark = firstMark(b.ends, text, b.first)
		closed, repairs := closeParameter(text[b.pos:b.first], b.pos, b.Mode)
		v, err := b.readTo(closed, b.first, mark)
		if err != nil {
			v = b.broken(b.err, b.first)
		}
		v.repairs, v.seen = append(v.repairs, repairs...), max(v.seen, at)
		return v
	}
}

// readTo reads a body up to a closing mark; "" means that the text ends without one.
func (b *callBlock) readTo(body string, at int, mark string) (v verdict, err *ParseError) {
	read := b.readBody
	if b.body != nil {
		read = b.body
	}
	if b.calls, b.repairs, err = read(body, b.pos); err != nil {
		return verdict{}, err
	}
	if mark == "" {
		return b.unended(at), nil
	}
	return b.done(at + len(mark)), nil
}

// valueForm is a form of values between tags.
type valueForm struct {
	tagPair
	next  []string // one of these follows a value, unless it is the last
	shown tagPair  // the tags around a call that a value shows: what closes in it does not end the value
}

var (
	parameterForm = valueForm{tagPair{open: parameterMark, close: parameterEnd}, []string{parameterMark, functionEnd}, tagPair{open: functionMark, close: functionEnd}}
	keyForm       = valueForm{tagPair: pairKey, next: []string{pairKey.open, pairValue.open}}
	pairForm      = valueForm{pairValue, keyForm.next, pairValue}
	escapeForm    = valueForm{tagPair: tagPair{open: escapeMark, close: escapeMark}, next: []string{""}}
)

// valueScan finds the ends of values in a text that grows. It reads each byte once.
type valueScan struct {
	valueForm
	pos    int  // the text before it was read
	inside bool // a value
	shown  int  // how many calls the value shows that have not ended
}

// end returns the position of the tag that ends the value at the current position, or -1. A value
// ends at the first closing tag that one of the next tags, or the end of the text, follows.
func (s *valueScan) end(text string) int {
	for {
		i := strings.IndexByte(text[s.pos:], '<')
		if i < 0 {
			s.pos = len(text)
			return -1
		}
		at := s.pos + i
		tag := text[at:]
		s.pos = at + 1
		switch {
		case s.shows(tag):
			s.shown++
		case s.shown > 0 && strings.HasPrefix(tag, s.valueForm.shown.close):
			s.shown--
		case s.shown == 0 && strings.HasPrefix(tag, s.close) && s.isNext(tag[len(s.close):]):
			s.pos, s.inside = at+len(s.close), false
			return at
		}
	}
}

// shows reports whether a call that the value shows begins with a tag: a function only if its first
// parameter follows.
func (s *valueScan) shows(tag string) bool {
	const longest = 256
	open := s.valueForm.shown.open
	_, rest, _ := strings.Cut(tag[:min(len(tag), longest)], ">")
	return open != "" && strings.HasPrefix(tag, open) && (open != functionMark || strings.HasPrefix(textscan.TrimLeft(rest), parameterMark))
}

// isNext reports whether the text after a closing tag may follow a value.
func (s *valueScan) isNext(after string) bool {
	after = textscan.TrimLeft(after)
	return slices.ContainsFunc(s.next, func(tag string) bool { return strings.HasPrefix(after, tag) || strings.HasPrefix(tag, after) })
}

// within reports whether a text ends within a value. Each text contains the one before, and ends at
// a mark.
func (s *valueScan) within(text string) bool {
	for {
		if !s.inside {
			i := strings.Index(text[s.pos:], s.open)
			if i < 0 {
				s.pos = len(text)
				return false
			}
			s.pos, s.inside = s.pos+i+len(s.open), true
		}
		if s.end(text) < 0 {
			return true
		}
	}
}

// valuesOf returns a function that reports whether a body of calls from pos on, as far as it is
// given, ends within a value: between tags or in a string. Its form is known by what it begins
// with. Each text contains the one before, and ends at a mark.
func valuesOf(text string, pos int) (within func(text string) bool) {
	s := &valueScan{pos: pos}
	body := text[pos:]
	head, _, pairs := strings.Cut(body, pairKey.open)
	switch _, end, _ := attribute(body, 0, functionMark); {
	case end > 0 && !strings.HasPrefix(textscan.TrimLeft(body[end:]), "{"):
		s.valueForm = parameterForm
	case strings.HasPrefix(body, "call:"):
		s.valueForm = escapeForm
	case pairs && !strings.ContainsAny(head, "<({"):
		s.valueForm = pairForm
	default:
		quoted := pyliteral.At(pos)
		return quoted.Within
	}
	return s.within
}

// closeParameter adds the closing tag of the last parameter of a function at an offset, if it is
// missing directly before the closing tag of the function, and nothing else can be meant: the value
// has neither of these tags, nor another function.
func closeParameter(body string, at int, mode Mode) (closed string, repairs []Repair) {
	held, ended := strings.CutSuffix(textscan.TrimRight(body), functionEnd)
	last := strings.LastIndex(held, parameterMark)
	if mode != ModeRepair || !ended || last < 0 || !strings.HasPrefix(body, functionMark) ||
		slices.ContainsFunc([]string{parameterEnd, functionEnd, functionMark}, func(tag string) bool { return strings.Contains(held[last:], tag) }) {
		return body, nil
	}
	return held + parameterEnd + functionEnd, []Repair{{Offset: at + len(held), What: "added the missing " + parameterEnd}}
}
