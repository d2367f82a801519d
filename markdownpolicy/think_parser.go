package markdownpolicy

import (
	"errors"
	"sort"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// ParseResponse implements [Policy].
func (t Think) ParseResponse(text string) (Document, error) { return parse(t.NewParser(), text) }

// NewParser implements [Streamer].
func (t Think) NewParser() Parser {
	return &thinkParser{
		think: t, within: t.Start == ThoughtsOpen, begun: t.Start == ThoughtsOpen, tagged: t.Start != "" && t.Start != ThoughtsAny,
		shelter: newShelter(isValued(t.policy())),
	}
}

// Stop implements [Stopper].
func (t Think) Stop() []string { return stops(t.policy()) }

// thinkParser passes thoughts to its collector, and each segment of the rest to a parser for it.
type thinkParser struct {
	think Think
	text  strings.Builder
	pos   int // the text before it was processed
	scan  int // there is no unprocessed tag in the text before it

	within  bool // pos is within a thought
	begun   bool // if a reply begins within a thought: a tag <think> may still follow
	tagged  bool // a </think> without its <think> is text
	until   int  // a </think> before this position is part of the thought
	shelter shelter

	segment *segment
	calls   int
	out     collector
	lines   lineCounter
	policy  string
	err     error
}

// segment is the text between two thoughts.
type segment struct {
	parser   Parser
	length   int
	notBlank bool
	calls    int    // the number of calls in the reply before it
	last     bool   // it ends with the reply
	spans    []span // the positions of its text in the reply
}

type span struct{ inner, outer int }

// Write implements [Parser].
func (t *thinkParser) Write(piece string) []Part {
	t.text.WriteString(piece)
	t.run(t.text.String(), false)
	return t.out.release()
}

// Close implements [Parser].
func (t *thinkParser) Close() (Document, []Part, error) {
	text := t.text.String()
	t.run(text, true)
	t.out.close()
	if t.segment == nil && t.err == nil && len(t.out.parts) == 0 {
		t.begin() // the policy must judge an empty reply
	}
	if s := t.segment; s != nil && (s.notBlank || len(t.out.parts) == 0) {
		t.endSegment(text)
	}
	rest := t.out.release()
	return Document{Policy: t.policy, Parts: t.out.parts, Repairs: t.out.repairs}, rest, t.err
}

func (t *thinkParser) run(text string, final bool) {
	if t.begun && !t.skipTag(text, final) {
		return
	}
	for t.step(text, final) {
	}
}

// skipTag skips the tag at the beginning of a reply that begins within a thought.
func (t *thinkParser) skipTag(text string, final bool) bool {
	for t.pos < len(text) && textscan.IsBlank(text[t.pos]) {
		t.pos++
	}
	if !final && strings.HasPrefix(thinkTag, text[t.pos:]) && len(text)-t.pos < len(thinkTag) {
		return false
	}
	if strings.HasPrefix(text[t.pos:], thinkTag) {
		t.pos += len(thinkTag)
	}
	t.begun, t.scan = false, t.pos
	return true
}

// step processes the text up to and including the next tag. It returns false if more text is
// needed.
func (t *thinkParser) step(text string, final bool) bool {
	t.scan = max(t.scan, t.pos)
	at, length := nextTag(text, t.scan)
	if length == 0 {
		return t.pause(text, final)
	}
	escaped := at > t.pos && text[at-1] == '\\'
	closing := length == len(thinkEndTag)
	quoted := false
	if !t.within {
		var sure bool
		if quoted, sure = t.shelter.around(text, at, at+length, final); !sure {
			t.wait(text, at)
			return false
		}
	}
	t.scan = at + length
	switch {
	case t.within && (!closing || at < t.until):
	case t.within && escaped:
		t.thought(text, t.pos, at-1)
		t.thought(text, at, t.scan)
		t.pos = t.scan
	case t.within:
		t.thought(text, t.pos, at)
		t.out.endThought()
		t.pos, t.within = t.scan, false
		t.shelter = t.shelter.from(t.pos)
	case quoted:
	case !t.tagged && escaped: // nothing is certain yet
	case !t.tagged && closing:
		t.within, t.until, t.tagged = true, at, true
		t.scan = t.pos
	case !t.tagged:
		t.tagged, t.scan, t.shelter = true, t.pos, t.shelter.from(0)
	case escaped:
		t.rest(text, t.pos, at-1)
		t.rest(text, at, t.scan)
		t.pos = t.scan
	case !closing:
		t.rest(text, t.pos, at)
		t.pos, t.within = t.scan, true
	}
	return true
}

// wait processes the text before a tag that may be quoted.
func (t *thinkParser) wait(text string, at int) {
	t.scan = at
	if to := escapeBefore(text, t.pos, at); t.tagged {
		t.rest(text, t.pos, to)
		t.pos = to
	}
}

// pause processes text without a tag that may end with the beginning of one. It returns true if the
// text must be examined again.
func (t *thinkParser) pause(text string, final bool) bool {
	to := len(text)
	if !final {
		to = max(t.scan, tagStart(text))
	}
	t.scan = to
	switch {
	case t.within:
		t.thought(text, t.pos, to)
	case t.tagged:
		t.rest(text, t.pos, to)
	case final: // there is no tag
		t.tagged, t.scan, t.shelter = true, t.pos, t.shelter.from(0)
		return true
	default:
		return false
	}
	t.pos = to
	return false
}

// tagStart returns where a tag, or a backslash before a tag, may begin at the end of the text.
func tagStart(text string) int {
	from := max(0, len(text)-len(thinkEndTag)+1)
	at := len(text)
	if i := strings.LastIndexByte(text[from:], '<'); i >= 0 {
		tail := text[from+i:]
		if strings.HasPrefix(thinkTag, tail) || strings.HasPrefix(thinkEndTag, tail) {
			at = from + i
		}
	}
	if at > 0 && text[at-1] == '\\' {
		at--
	}
	return at
}

func (t *thinkParser) thought(text string, from, to int) {
	if textscan.Trim(text[from:to]) != "" && t.segment != nil {
		if t.segment.notBlank {
			t.endSegment(text)
		}
		t.segment = nil
	}
	t.out.think(text[from:to], from, to)
}

// rest passes text to the parser of the segment.
func (t *thinkParser) rest(text string, from, to int) {
	if from == to {
		return
	}
	if t.err != nil {
		t.out.text(text[from:to], from)
		return
	}
	if t.segment == nil {
		t.begin()
	}
	s := t.segment
	if n := len(s.spans); n == 0 || s.spans[n-1].outer+s.length-s.spans[n-1].inner != from {
		s.spans = append(s.spans, span{s.length, from})
	}
	s.length += to - from
	s.notBlank = s.notBlank || textscan.Trim(text[from:to]) != ""
	for _, p := range s.parser.Write(text[from:to]) {
		t.out.unreleased = append(t.out.unreleased, t.place(p, &t.calls))
	}
}

func (t *thinkParser) begin() {
	t.segment = &segment{parser: newParser(t.think.policy()), calls: t.calls}
}

func (t *thinkParser) endSegment(text string) {
	s := t.segment
	s.last = !t.within && t.pos == len(text)
	doc, rest, err := s.parser.Close()
	for _, p := range rest {
		t.out.unreleased = append(t.out.unreleased, t.place(p, &t.calls))
	}
	for _, p := range doc.Parts {
		t.out.parts = append(t.out.parts, t.place(p, &s.calls))
	}
	for _, r := range doc.Repairs {
		r.Offset = s.outer(r.Offset)
		r.Line = t.lines.line(text, r.Offset)
		t.out.repairs = append(t.out.repairs, r)
	}
	if e, ok := errors.AsType[*ParseError](err); ok {
		e.Offset = s.outer(e.Offset)
		e.Line = t.lines.line(text, e.Offset)
	}
	if t.policy == "" {
		t.policy = doc.Policy
	}
	t.err, t.segment = err, nil
}

// place converts a part of the segment to a part of the reply.
func (t *thinkParser) place(p Part, calls *int) Part {
	if c, ok := p.Content.(messages.ToolCall); ok {
		*calls++
		c.ID = callID(*calls)
		p.Content = c
	}
	if p.End > p.Start {
		p.End = t.segment.outer(p.End-1) + 1
	}
	p.Start = t.segment.outer(p.Start)
	p.Open = p.Open && t.segment.last
	return p
}

// outer converts a position in the segment to a position in the reply.
func (s *segment) outer(inner int) int {
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].inner > inner })
	if i == 0 {
		return inner
	}
	return s.spans[i-1].outer + inner - s.spans[i-1].inner
}
