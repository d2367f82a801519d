package markdownpolicy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// Parser reads one reply that arrives in pieces.
type Parser interface {
	// Write processes the next piece and returns the parts that are certain now: whole calls, and
	// texts and thoughts that can no longer become part of a call, perhaps in several pieces.
	Write(piece string) []Part

	// Close ends the reply. It returns the Document that ParseResponse returns for the whole text,
	// and the parts that Write had not returned.
	Close() (doc Document, rest []Part, err error)
}

// Document is a parsed reply.
type Document struct {
	Policy  string   // the name of the matching policy; for a [Chain] "" if none matched
	Parts   []Part   // in order; neighbouring texts are joined, none is blank
	Repairs []Repair // the repairs, in order
}

// Part is a part of a reply and its position in bytes of the text: [Start, End).
type Part struct {
	Content messages.AssistantContent // Text, Thought, or ToolCall (with an ID from the parser: "call_1", "call_2", … in the reply)
	Start   int
	End     int

	// Open reports that the reply ended before the end mark of a call, such as a closing fence or
	// tag, so that the call may be incomplete, or before the end of the thought that the call is
	// in. In a complete reply the model forgot the mark. In a reply that was cut off, part of the
	// call may be missing, or the thought may only consider it, so the call must not be made. A
	// call whose form has no end mark, such as an object in prose, ends after its last bracket.
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

// Repair is one repair of a reply.
type Repair struct {
	Offset int    // in bytes of the text
	Line   int    // from 1
	What   string // such as "added the missing } at the end of the arguments"
}

// syntax is the part of a parser that depends on the format, for formats that mark calls and
// thoughts in the text: where something other than text may begin, and how it is read. The
// markParser does the rest: text, positions, pieces, limits.
type syntax interface {
	// find returns the position of the first mark from from on, and true. If there is none, it
	// returns false and the position from which the text may be the beginning of an incomplete
	// mark, or len(text). final means that no more text comes: then an incomplete mark is not a
	// mark, and does not hide the marks after it. Everything that needs attention is a mark, such
	// as an escaped one.
	find(text string, from int, final bool) (at int, found bool)

	// begin returns a block that reads the text at a mark.
	begin(text string, at int) block
}

// block is the text that begins at a mark.
type block interface {
	// read examines the whole text so far. Each call passes a longer text. final means that no more
	// text comes; the verdict then must not be more. A block must not examine text twice, so that
	// all reads of a block take time linear in its length.
	read(text string, final bool) verdict
}

// lookaheadLimiter is a block that may look far ahead in vain. If limitLookahead is called, it is
// called before read. The block then limits its lookahead, so that the time for a reply stays
// linear in its length.
type lookaheadLimiter interface{ limitLookahead() }

// verdict is the result of reading a block.
type verdict struct {
	kind    verdictKind
	end     int         // the position after the block, greater than that of its mark; unused for more
	parts   []Part      // for isParts: the parts, without ids
	seen    int         // how far it looked, if that is beyond end; does not depend on how the text arrives
	repairs []Repair    // for isParts
	err     *ParseError // for isBroken: the error; Policy and Line are filled in later
	unended bool        // for isParts: calls after it are in a thought that does not end
}

type verdictKind uint8

const (
	more     verdictKind = iota // undecided: more text is needed
	isText                      // the text from its mark to end is plain text
	isParts                     // the text consists of parts; none is a text that was not written
	isBroken                    // it is meant as a call but is not one
)

// markParser is a [Parser] for a syntax.
type markParser struct {
	policy string
	mode   Mode
	syntax syntax

	text    strings.Builder // all the text so far
	pos     int             // the text before it was processed
	block   block           // the block at pos; nil for text
	calls   int
	unended bool // the calls are in a thought that does not end
	out     collector
	lines   lineCounter
	err     *ParseError

	seen     int  // how far any block has looked
	lookedAt int  // bytes examined by blocks
	limited  bool // blocks must limit their lookahead
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

// next finds the next mark and processes the text before it. It returns false if there is none.
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

// take processes a block. If blocks repeatedly look far ahead in vain, it limits the lookahead of
// later ones.
func (p *markParser) take(text string, v verdict) {
	const allowance = 9
	p.block = nil
	if v.kind == more { // the block does not know its end yet
		v.end = len(text)
	}
	p.seen = max(p.seen, v.seen, v.end)
	p.lookedAt += max(v.seen, v.end) - p.pos
	p.limited = p.lookedAt > allowance*p.seen+1<<17
	switch {
	case v.kind == isParts:
		for _, part := range v.parts {
			p.add(part)
		}
		p.unended = p.unended || v.unended
		for _, r := range v.repairs {
			r.Line = p.lines.line(text, r.Offset)
			p.out.repairs = append(p.out.repairs, r)
		}
		p.pos = v.end
	case v.kind == isBroken && p.mode != ModeText:
		p.err = v.err
		p.err.Policy, p.err.Line = p.policy, p.lines.line(text, p.err.Offset)
	default:
		p.plain(text, v.end)
	}
}

// add adds a part of a block.
func (p *markParser) add(part Part) {
	switch c := part.Content.(type) {
	case messages.ToolCall:
		p.calls++
		c.ID = callID(p.calls)
		part.Content, part.Open = c, part.Open || p.unended
	case messages.Thought:
		c.Text = textscan.Trim(c.Text)
		if c.Text == "" {
			return
		}
		part.Content = c
	}
	p.out.add(part)
}

// leaveOpen marks the last of calls as open: the text ended before its end mark.
func leaveOpen(calls []Part) {
	if n := len(calls); n > 0 {
		calls[n-1].Open = true
	}
}

// plain treats everything before to as text.
func (p *markParser) plain(text string, to int) {
	if to > p.pos {
		p.out.text(text[p.pos:to], p.pos)
		p.pos = to
	}
}

// callID returns the id of the n-th call of a reply.
func callID(n int) string { return "call_" + strconv.Itoa(n) }

// ParseError says where a reply could not be read, and what was expected there.
type ParseError struct {
	Policy   string // name of the policy; "" if the problem is not one of a format
	Offset   int    // in bytes of the text
	Line     int    // from 1
	Expected string // such as `a JSON object with "name" and "arguments"`
	Found    string // the text found there, shortened
	Err      error  // the cause, if there is one

	foundPartly bool // Found was cut at the end of the text so far
}

// complete sets Found to what it would be for the whole text.
func (e *ParseError) complete(text string) {
	if e.foundPartly {
		e.Found, e.foundPartly = shorten(text[e.Offset:]), false
	}
}

// Error includes the policy, the line and the offset.
func (e *ParseError) Error() string {
	text := "markdownpolicy: "
	if e.Policy != "" {
		text += e.Policy + ": "
	}
	text += fmt.Sprintf("line %d (byte %d): expected %s", e.Line, e.Offset, e.Expected)
	if e.Found != "" {
		text += fmt.Sprintf(", found %q", e.Found)
	}
	return text
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Feedback returns a text that tells a model what was wrong with its reply.
func (e *ParseError) Feedback() string {
	text := fmt.Sprintf("Your reply could not be read: on line %d, %s was expected", e.Line, e.Expected)
	if e.Found != "" {
		text += fmt.Sprintf(", but there is %q", e.Found)
	}
	return text + ". Write the whole reply again, in the format that you were given."
}

// broken returns an error about the text at an offset of the reply.
func broken(at int, expected, found string, cause error) *ParseError {
	return &ParseError{Offset: at, Expected: expected, Found: shorten(found), Err: cause}
}

// repeated returns an error about something that occurs twice but may occur only once.
func repeated(at int, what, found string) *ParseError {
	return broken(at, what+" only once in a call", found, nil)
}

// brokenFrom returns an error about the rest of the reply after at. More of the reply may come.
func brokenFrom(text string, at int, expected string) *ParseError {
	e := broken(at, expected, text[at:], nil)
	e.foundPartly = true
	return e
}

// shorten cuts a text for use in an error.
func shorten(text string) string {
	const most = 60
	if text = textscan.TrimLeft(text); len(text) <= most { // the blanks at the end of a long text do not matter
		return textscan.TrimRight(text)
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// continuedError reports text after the end of a call that continues the call.
func continuedError(text string, pos int) *ParseError {
	return brokenFrom(text, pos, "the end of the call, with all arguments before it")
}

// lineCounter returns line numbers of positions. The cost of each is its distance from the one
// before.
type lineCounter struct{ offset, breaks int }

// line returns the line of a position, from 1.
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

// collector arranges parts in order. Neighbouring texts become one, without surrounding blanks, and
// a blank text is dropped. A thought may arrive in pieces, too.
type collector struct {
	parts   []Part
	repairs []Repair

	run        textBuffer // the text or thought that may still continue, without blanks before it
	thought    bool       // run is a thought
	start, end int        // its position, without surrounding blanks
	trimmed    int        // run[:trimmed] does not end in blanks

	released   int    // run[:released] has been released
	behind     int    // the position after the released part of run
	unreleased []Part // parts to be released
}

// text adds a piece of text at a position.
func (c *collector) text(s string, at int) { c.literal(s, at, at+len(s)) }

// literal adds text that represents the source between two positions.
func (c *collector) literal(s string, start, end int) {
	if c.thought {
		c.close()
	}
	c.append(s, start, end)
}

// think adds to the thought, which ends with endThought or at the next text.
func (c *collector) think(s string, start, end int) {
	if !c.thought {
		if textscan.Trim(s) == "" {
			return
		}
		c.close()
		c.thought = true
	}
	c.append(s, start, end)
}

// endThought ends the current thought, if there is one. The next thought is a new part.
func (c *collector) endThought() {
	if c.thought {
		c.close()
	}
}

func (c *collector) append(s string, start, end int) {
	if c.run.len() == 0 {
		kept := textscan.TrimLeft(s)
		if kept == "" {
			return
		}
		if end-start == len(s) {
			start += len(s) - len(kept)
		}
		c.start, c.behind, s = start, start, kept
	}
	if kept := textscan.TrimRight(s); kept != "" {
		c.trimmed = c.run.len() + len(kept)
		c.end = end
		if end-start == len(s) {
			c.end -= len(s) - len(kept)
		}
	}
	c.run.add(s)
}

// add adds a part. The source of a text may differ from it, as for an escaped mark.
func (c *collector) add(p Part) {
	if t, ok := p.Content.(messages.Text); ok {
		c.literal(t.Text, p.Start, p.End)
		return
	}
	c.close()
	c.parts = append(c.parts, p)
	c.unreleased = append(c.unreleased, p)
}

// close ends the text or thought.
func (c *collector) close() {
	switch {
	case c.trimmed > 0 && c.released == 0: // the whole text is one part
		whole := c.piece(0, c.start)
		c.parts, c.unreleased = append(c.parts, whole), append(c.unreleased, whole)
	case c.trimmed > 0:
		c.flush()
		c.parts = append(c.parts, c.piece(0, c.start))
	}
	c.run = textBuffer{}
	c.thought, c.trimmed, c.released = false, 0, 0
}

// flush adds the certain part of the text to unreleased.
func (c *collector) flush() {
	if c.trimmed > c.released {
		c.unreleased = append(c.unreleased, c.piece(c.released, c.behind))
		c.released, c.behind = c.trimmed, c.end
	}
}

// piece is the text of run after from; its position is start.
func (c *collector) piece(from, start int) Part {
	s := c.run.string()[from:c.trimmed]
	if c.thought {
		return Part{Content: messages.Thought{Text: s}, Start: start, End: c.end}
	}
	return Part{Content: messages.Text{Text: s}, Start: start, End: c.end}
}

// release returns the parts that are certain and were not yet released.
func (c *collector) release() []Part {
	c.flush()
	unreleased := c.unreleased
	c.unreleased = nil
	return unreleased
}

// textBuffer is a text that arrives in pieces, most often in one.
type textBuffer struct {
	one  string          // the whole text, while it is one piece
	many strings.Builder // the whole text after that
}

func (b *textBuffer) add(s string) {
	switch {
	case b.len() == 0:
		b.one = s
	case b.many.Len() == 0:
		b.many.WriteString(b.one)
		fallthrough
	default:
		b.many.WriteString(s)
	}
}

func (b *textBuffer) len() int { return max(len(b.one), b.many.Len()) }

func (b *textBuffer) string() string {
	if b.many.Len() == 0 {
		return b.one
	}
	return b.many.String()
}
