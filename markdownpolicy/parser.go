package markdownpolicy

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/messages"
)

// syntax is what differs between formats that set calls and thoughts off from the text by marks:
// where something other than text may begin, and how it is read. The engine does the rest: text,
// places, pieces, bounds.
type syntax interface {
	// find returns the place of the first mark at or after from, and true. If there is none it
	// returns false, and the place from which on the text may be the beginning of a mark that is
	// not all there yet: len(text) where it cannot be. final says that nothing more comes: what is
	// not all there then is no mark, and does not hide those behind it. A mark is whatever has to
	// be looked at, such as an escaped one.
	find(text string, from int, final bool) (at int, found bool)

	// begin starts to read what stands at a mark.
	begin(text string, at int) block
}

// block is something that begins at a mark.
type block interface {
	// read looks at the whole text, of which there is more each time; final says that nothing more
	// comes, and then the verdict is not more. It must not look again at what it has looked at, so
	// that the time for all reads of a block is linear in its length.
	read(text string, final bool) verdict
}

// hasty is a block that may look far ahead in vain. Told to hurry, before it is read, it looks
// ahead no further than the time for a reply stays linear in its length.
type hasty interface{ hurry() }

// verdict is what a block says of itself.
type verdict struct {
	kind    verdictKind
	end     int         // the place behind it, greater than that of its mark; for more: not used
	parts   []Part      // of isParts: without ids
	seen    int         // how far it looked, where that is further than end; the same however the text arrives
	repairs []Repair    // of isParts
	err     *ParseError // of isBroken: what is wrong; Policy and Line are filled in
}

type verdictKind uint8

const (
	more     verdictKind = iota // it cannot say yet
	isText                      // what stands between its mark and end is text, as it is
	isParts                     // what stands there is parts; none is text that is not there
	isBroken                    // it is meant as a call, and is none
)

// engine is a [Parser] for a syntax.
type engine struct {
	policy string
	mode   Mode
	syntax syntax

	text  strings.Builder // all that has come
	pos   int             // text before it has been dealt with
	block block           // what begins at pos; nil: text
	calls int
	out   collector
	lines lineCounter
	err   *ParseError

	seen   int  // how far any block looked
	wasted int  // bytes that blocks looked at to find that they are text
	tired  bool // blocks have to hurry
}

func newEngine(policy string, mode Mode, s syntax) *engine {
	if mode == "" {
		mode = ModeError
	}
	return &engine{policy: policy, mode: mode, syntax: s}
}

// parse reads a whole reply.
func parse(p Parser, text string) (Document, error) {
	p.Write(text)
	doc, _, err := p.Close()
	return doc, err
}

// Write implements [Parser].
func (e *engine) Write(piece string) []Part {
	e.text.WriteString(piece)
	e.run(e.text.String(), false)
	return e.out.release()
}

// Close implements [Parser].
func (e *engine) Close() (Document, []Part, error) {
	text := e.text.String()
	e.run(text, true)
	e.plain(text, len(text))
	e.out.close()
	rest := e.out.release()
	doc := Document{Parts: e.out.parts, Repairs: e.out.repairs}
	doc.Policy = e.policy
	if e.err != nil {
		e.err.complete(text)
		return doc, rest, e.err
	}
	return doc, rest, nil
}

func (e *engine) run(text string, final bool) {
	for e.err == nil && e.pos < len(text) {
		if e.block == nil && !e.next(text, final) {
			return
		}
		v := e.block.read(text, final)
		if v.kind == more && !final {
			return
		}
		e.take(text, v)
	}
}

// next finds the next mark, and deals with the text before it. It returns false if there is none.
func (e *engine) next(text string, final bool) bool {
	at, found := e.syntax.find(text, e.pos, final)
	e.plain(text, at)
	if found {
		e.block = e.syntax.begin(text, at)
		if b, ok := e.block.(hasty); ok && e.tired {
			b.hurry()
		}
	}
	return found
}

// take deals with a block.
func (e *engine) take(text string, v verdict) {
	e.block = nil
	switch v.kind {
	case isParts:
		for _, p := range v.parts {
			e.add(p)
		}
		for _, r := range v.repairs {
			r.Line = e.lines.line(text, r.Offset)
			e.out.repairs = append(e.out.repairs, r)
		}
		e.pos = v.end
	case isBroken:
		if e.mode == ModeText {
			e.giveBack(text, v)
			return
		}
		e.err = v.err
		e.err.Policy, e.err.Line = e.policy, e.lines.line(text, e.err.Offset)
	default:
		if v.kind == more { // a block that does not know its end
			v.end = len(text)
		}
		e.giveBack(text, v)
	}
}

// add adds a part of a block.
func (e *engine) add(p Part) {
	switch c := p.Content.(type) {
	case messages.ToolCall:
		e.calls++
		c.ID = callID(e.calls)
		p.Content = c
	case messages.Thought:
		c.Text = trimBlanks(c.Text)
		if c.Text == "" {
			return
		}
		p.Content = c
	}
	e.out.add(p)
}

// leaveOpen says of the last of some calls that the text ended before its end mark.
func leaveOpen(calls []Part) {
	if n := len(calls); n > 0 {
		calls[n-1].Open = true
	}
}

// giveBack takes a block as text. Where blocks look far ahead and find nothing again and again, the
// others have to hurry.
func (e *engine) giveBack(text string, v verdict) {
	const patience = 8
	e.seen = max(e.seen, v.seen, v.end)
	e.wasted += max(v.seen, v.end) - e.pos
	e.tired = e.wasted > patience*e.seen+1<<17
	e.plain(text, v.end)
}

// plain takes what stands before to as text.
func (e *engine) plain(text string, to int) {
	if to > e.pos {
		e.out.text(text[e.pos:to], e.pos)
		e.pos = to
	}
}

// callID is the id of the n-th call of a reply.
func callID(n int) string { return "call_" + strconv.Itoa(n) }

// lineCounter tells lines of places in a text, each at the cost of its distance from the one
// before.
type lineCounter struct{ offset, breaks int }

// line returns the line, from 1, of a place.
func (c *lineCounter) line(text string, offset int) int {
	offset = min(max(offset, 0), len(text))
	if offset >= c.offset {
		c.breaks += strings.Count(text[c.offset:offset], "\n")
	} else {
		c.breaks -= strings.Count(text[offset:c.offset], "\n")
	}
	c.offset = offset
	return c.breaks + 1
}
