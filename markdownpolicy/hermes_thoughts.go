package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// This file reads thoughts between <think> and </think>, also those that have no beginning, or no
// end.

// hermesSyntax is the syntax of formats with such thoughts, such as [Hermes].
type hermesSyntax struct {
	tagSyntax
	within block        // the thought at the beginning of the reply, until it has begun
	open   *openThought // the same, if the reply begins within it, until its place is known
	stray  *int         // the position of an end of a thought that is left out; 0 if there is none

	leading bool // the reply may begin with a thought that has no beginning
	scan    int  // if leading: there is no tag before it
	shelter shelter
}

func (s *hermesSyntax) find(text string, from int, final bool) (int, bool) {
	if s.leading {
		return s.findLeading(text, from, final)
	}
	if s.open == nil {
		at, found := s.tagSyntax.find(text, from, final)
		if s.stray != nil && *s.stray > 0 && *s.stray >= from && *s.stray <= at {
			return *s.stray, true
		}
		return at, found
	}
	at := jsonscan.SkipBlanks(text, from)
	opened, wait := textscan.StandsAt(text, at, thoughtTags.open, final)
	if wait || at == len(text) {
		return at, false
	}
	b := s.open
	b.start, b.body = at, at
	if opened { // the model may still write the tag
		b.body += len(thoughtTags.open)
	}
	b.pos = b.body
	s.within, s.open = b, nil
	return at, true
}

// findLeading searches for the first tag of a thought. If it is an end, the reply begins with a
// thought.
func (s *hermesSyntax) findLeading(text string, from int, final bool) (int, bool) {
	for {
		start := jsonscan.SkipBlanks(text, from)
		at, length := nextTag(text, s.scan)
		if length == 0 {
			if s.scan = max(s.scan, tagStart(text)); !final {
				return start, false
			}
			s.leading = false
			return s.find(text, from, final)
		}
		switch quoted, sure := s.shelter.around(text, at, at+length, final); {
		case !sure:
			s.scan = at
			return start, false
		case quoted || escapeBefore(text, from, at) < at:
			s.scan = at + length
			continue
		}
		s.leading = false
		if length == len(thoughtTags.open) {
			return s.find(text, from, final)
		}
		s.within = &thoughtBlock{start: start, body: start, marks: thoughtTags, ends: finders(thoughtTags.close), pos: at}
		return start, true
	}
}

func (s *hermesSyntax) begin(text string, at int) block {
	switch {
	case s.within != nil:
		within := s.within
		s.within = nil
		return within
	case s.stray != nil && *s.stray == at && at > 0:
		*s.stray = 0
		return fixedBlock{kind: isParts, end: at + len(thoughtTags.close)}
	default:
		return s.tagSyntax.begin(text, at)
	}
}

// thinking returns the syntax of a format with thoughts between <think> and </think>, in which one
// of the marks in calls begins calls, and one of those in closing ends them.
func (t Thoughts) thinking(o Options, calls, closing []string, tags ...tag) *hermesSyntax {
	s, marks := &hermesSyntax{leading: t == ThoughtsAny}, t.marks(calls)
	s.shelter = newShelter(slices.Contains(calls, toolCallMarks.open))
	switch t {
	case ThoughtsNone:
	case ThoughtsAny: // an end without its beginning is text, but can be escaped
		tags = append(tags, tag{marks.close, func(_, after int) block { return fixedBlock{kind: isText, end: after} }})
		fallthrough
	default:
		search, ends := &openSearch{Options: o, closing: closing}, finders(marks.ends()...)
		held := func(start, body int) *openThought {
			return &openThought{
				thoughtBlock: thoughtBlock{start: start, body: body, marks: marks, ends: ends, pos: body}, search: search, shelter: s.shelter.from(0),
			}
		}
		if s.stray = &search.stray; t == ThoughtsOpen {
			s.open = held(0, 0)
		}
		tags = append(tags, tag{marks.open, func(start, after int) block { return held(start, after) }})
	}
	s.tagSyntax = newTagSyntax(tags...)
	return s
}

// marks returns the marks around a thought.
func (t Thoughts) marks(calls []string) tagPair {
	marks := thoughtTags
	if t != ThoughtsNone {
		marks.until = calls
	}
	return marks
}

// openSearch is what all thoughts of a reply share.
type openSearch struct {
	Options
	closing []string // the marks that end calls
	stray   int      // the position of an end of a thought after its calls; 0 if there is none
}

// openThought reads a thought that may hold calls. It is closed by its end tag, although it holds
// calls, because a thought may consider calls. Where the calls begin, it ends only if it has no end
// tag before the next thought, or if the end tag directly follows the calls and ends the reply.
type openThought struct {
	thoughtBlock
	search  *openSearch
	called  bool // there is a call in it, or what looks like one
	call    int  // the position of the first
	shelter shelter
}

func (b *openThought) read(text string, final bool) verdict {
	if !b.called {
		if v, decided := b.findCall(text, final); decided {
			return v
		}
	}
	for {
		at, length := nextTag(text, b.pos)
		if length == 0 {
			if b.pos = max(b.pos, tagStart(text)); !final {
				return verdict{}
			}
			v := b.verdict(text, b.call, b.call)
			v.unended = true
			return v
		}
		quoted, sure := b.shelter.around(text, at, at+length, final)
		switch {
		case !sure:
			b.pos = at
			return verdict{}
		case quoted || escapeBefore(text, b.body, at) < at:
			b.pos = at + length
			continue
		case length == len(thoughtTags.open):
			return b.verdict(text, b.call, b.call)
		}
		behind := at + length
		before := textscan.TrimRight(text[b.call:at])
		if slices.ContainsFunc(b.search.closing, func(mark string) bool { return strings.HasSuffix(before, mark) }) {
			switch next := jsonscan.SkipBlanks(text, behind); {
			case next == len(text) && !final:
				b.pos = at
				return verdict{}
			case next == len(text):
				b.search.stray = at
				return b.verdict(text, b.call, b.call)
			}
		}
		return b.verdict(text, at, behind)
	}
}

// findCall searches for the first call in the thought, or the end of the thought before it.
func (b *openThought) findCall(text string, final bool) (verdict, bool) {
	for {
		at, mark := firstMark(b.ends, text, b.pos)
		switch {
		case at < 0 && !final:
			return verdict{}, true
		case at < 0:
			return b.verdict(text, len(text), len(text)), true
		case escapeBefore(text, b.body, at) < at:
			b.pos = at + 1
			continue
		case mark == thoughtTags.close:
			return b.verdict(text, at, at+len(mark)), true
		}
		begins := b.search.beginsCall
		if mark == functionMark {
			begins = b.search.beginsFunction
		}
		called, wait := begins(text, at+len(mark), final)
		if wait {
			return verdict{}, true
		}
		if called {
			b.called, b.call, b.pos = true, at, at+len(mark)
			b.shelter = b.shelter.from(at)
			return verdict{}, false
		}
		b.pos = at + 1
	}
}

// startsOfCalls are the marks that may directly follow a mark of calls.
var startsOfCalls = []string{functionMark, invoke.call.open, dsml.call.open, kimiCall, deepSeekCall, asciiBars(deepSeekCall)}

// beginsCall reports whether the text after the mark of a call looks like a call, and not like a
// sentence about the mark. wait means that more text is needed.
func (o Options) beginsCall(text string, at int, final bool) (yes, wait bool) {
	const most = 256 // bytes that are examined
	window := text[at:min(len(text), at+most)]
	more := at+len(window) == len(text) && len(window) < most && !final
	rest := textscan.TrimLeft(window)
	if rest == "" || rest[0] == '{' || rest[0] == '[' {
		return rest != "" || !more, rest == "" && more
	}
	n := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
	if n < 0 {
		return !more && o.tool(rest) != nil, more
	}
	name, behind := rest[:n], rest[n:]
	switch {
	case name == "":
		for _, mark := range startsOfCalls {
			switch {
			case !strings.HasPrefix(rest, mark):
				wait = wait || more && strings.HasPrefix(mark, rest)
			case mark == functionMark || mark == invoke.call.open || mark == dsml.call.open:
				return true, false
			default:
				return o.beginsCall(text[:at+len(window)], at+len(window)-len(rest)+len(mark), !more)
			}
		}
		return false, wait
	case behind[0] == '(' || name == "call" && behind[0] == ':':
		return true, false
	}
	behind = textscan.TrimLeft(strings.TrimLeft(behind, ":0123456789")) // Kimi numbers the calls
	marks := append([]string{pairKey.open, kimiArguments}, deepSeekSeparators...)
	if o.tool(name) != nil {
		marks = append(marks, "{", "</", "<|", "<｜")
	}
	for _, mark := range marks {
		if strings.HasPrefix(behind, mark) || behind == "" && !more && o.tool(name) != nil {
			return true, false
		}
		wait = wait || more && strings.HasPrefix(mark, behind)
	}
	return false, wait
}
