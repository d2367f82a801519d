package markdownpolicy

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// Parser reads one reply that arrives in pieces.
type Parser interface {
	// Write takes the next piece and returns what is certain by now: texts and thoughts that cannot
	// become part of a call any more, at once and perhaps in pieces, and whole calls.
	Write(piece string) []Part

	// Close says that nothing more comes. It returns the whole, as ParseResponse of the whole text
	// does, and what of it Write had not returned.
	Close() (doc Document, rest []Part, err error)
}

// Document is a reply that was read.
type Document struct {
	Policy  string   // the name of the policy whose format was found; of a [Chain] the one that matched, "" if none did
	Parts   []Part   // in order; neighbouring texts are one, none is blank
	Repairs []Repair // what was mended, in order
}

// Part is a part of a reply, and where it stood in bytes of the text: [Start, End).
type Part struct {
	Content messages.AssistantContent // Text, Thought, or ToolCall (its ID made by the parser: "call_1", "call_2", … in the reply)
	Start   int
	End     int

	// Open says of a call that the reply ended before the mark that ends the call, such as a
	// closing fence or tag, and that there may have been more of it. Of a whole reply, a model
	// forgot the mark; of one that was cut off, part of the call may be missing, so it must not be
	// made. A call without such a mark, such as an object in prose, ends behind its last bracket.
	Open bool
}

// Contents returns the contents of the parts.
func (d Document) Contents() []messages.AssistantContent {
	contents := make([]messages.AssistantContent, len(d.Parts))
	for i, p := range d.Parts {
		contents[i] = p.Content
	}
	return contents
}

// Repair is something that was mended in a reply.
type Repair struct {
	Offset int    // in bytes of the text
	Line   int    // from 1
	What   string // such as "added the missing } at the end of the arguments"
}

// syntax is what differs between formats that set calls and thoughts off from the text by marks:
// where something other than text may begin, and how it is read. The markParser does the rest:
// text, places, pieces, bounds.
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

// lookaheadLimiter is a block that may look far ahead in vain. limitLookahead is called before it
// is read, if at all: then it looks ahead no further than the time for a reply stays linear in its
// length.
type lookaheadLimiter interface{ limitLookahead() }

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

// markParser is a [Parser] for a syntax.
type markParser struct {
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

	seen     int  // how far any block looked
	lookedAt int  // bytes that blocks looked at to find that they are text
	limited  bool // blocks must not look far ahead
}

func newMarkParser(policy string, mode Mode, s syntax) *markParser {
	if mode == "" {
		mode = ModeError
	}
	return &markParser{policy: policy, mode: mode, syntax: s}
}

// parse reads a whole reply.
func parse(p Parser, text string) (Document, error) {
	p.Write(text)
	doc, _, err := p.Close()
	return doc, err
}

// Write implements [Parser].
func (p *markParser) Write(piece string) []Part {
	p.text.WriteString(piece)
	p.run(p.text.String(), false)
	return p.out.release()
}

// Close implements [Parser].
func (p *markParser) Close() (Document, []Part, error) {
	text := p.text.String()
	p.run(text, true)
	p.plain(text, len(text))
	p.out.close()
	rest := p.out.release()
	doc := Document{Parts: p.out.parts, Repairs: p.out.repairs}
	doc.Policy = p.policy
	if p.err != nil {
		p.err.complete(text)
		return doc, rest, p.err
	}
	return doc, rest, nil
}

func (p *markParser) run(text string, final bool) {
	for p.err == nil && p.pos < len(text) {
		if p.block == nil && !p.next(text, final) {
			return
		}
		v := p.block.read(text, final)
		if v.kind == more && !final {
			return
		}
		p.take(text, v)
	}
}

// next finds the next mark, and deals with the text before it. It returns false if there is none.
func (p *markParser) next(text string, final bool) bool {
	at, found := p.syntax.find(text, p.pos, final)
	p.plain(text, at)
	if found {
		p.block = p.syntax.begin(text, at)
		if b, ok := p.block.(lookaheadLimiter); ok && p.limited {
			b.limitLookahead()
		}
	}
	return found
}

// take deals with a block.
func (p *markParser) take(text string, v verdict) {
	p.block = nil
	switch v.kind {
	case isParts:
		for _, part := range v.parts {
			p.add(part)
		}
		for _, r := range v.repairs {
			r.Line = p.lines.line(text, r.Offset)
			p.out.repairs = append(p.out.repairs, r)
		}
		p.pos = v.end
	case isBroken:
		if p.mode == ModeText {
			p.takeAsText(text, v)
			return
		}
		p.err = v.err
		p.err.Policy, p.err.Line = p.policy, p.lines.line(text, p.err.Offset)
	default:
		if v.kind == more { // a block that does not know its end
			v.end = len(text)
		}
		p.takeAsText(text, v)
	}
}

// add adds a part of a block.
func (p *markParser) add(part Part) {
	switch c := part.Content.(type) {
	case messages.ToolCall:
		p.calls++
		c.ID = callID(p.calls)
		part.Content = c
	case messages.Thought:
		c.Text = textscan.Trim(c.Text)
		if c.Text == "" {
			return
		}
		part.Content = c
	}
	p.out.add(part)
}

// leaveOpen says of the last of some calls that the text ended before its end mark.
func leaveOpen(calls []Part) {
	if n := len(calls); n > 0 {
		calls[n-1].Open = true
	}
}

// takeAsText takes a block as text. Where blocks look far ahead and find nothing again and again,
// the others must not.
func (p *markParser) takeAsText(text string, v verdict) {
	const allowance = 8
	p.seen = max(p.seen, v.seen, v.end)
	p.lookedAt += max(v.seen, v.end) - p.pos
	p.limited = p.lookedAt > allowance*p.seen+1<<17
	p.plain(text, v.end)
}

// plain takes what stands before to as text.
func (p *markParser) plain(text string, to int) {
	if to > p.pos {
		p.out.text(text[p.pos:to], p.pos)
		p.pos = to
	}
}

// callID is the id of the n-th call of a reply.
func callID(n int) string { return "call_" + strconv.Itoa(n) }
