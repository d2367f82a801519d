package markdownpolicy

import (
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Think separates a model's thoughts, between <think> and </think>, from a reply; another policy
// reads the rest. A thought without an end extends to the end of the reply. A tag between double
// quotes on its line, as in the arguments of a call, is not a tag, nor is one in a value that [GLM]
// or [Hermes] reads without quotes, or one after a backslash, which is removed.
type Think struct {
	Policy Policy   // reads the rest; nil is [Fenced]
	Start  Thoughts // how the first thought of a reply begins: ThoughtsTagged, ThoughtsOpen or ThoughtsAny; "" is ThoughtsAny
}

const (
	thinkTag    = "<think>"
	thinkEndTag = "</think>"
)

func (t Think) policy() Policy {
	if t.Policy == nil {
		return Fenced
	}
	return t.Policy
}

// WithTools implements [Tooled].
func (t Think) WithTools(defs []tools.Definition) Policy {
	if t.Policy == nil {
		t.Policy = Fenced
	}
	t.Policy = withTools(t.Policy, defs)
	return t
}

// Name returns the name of the policy that reads the rest.
func (t Think) Name() string { return nameOf(t.policy()) }

// FormatInstructions returns the instructions of the policy that reads the rest: models that write
// such thoughts need no instructions for them.
func (t Think) FormatInstructions(defs []tools.Definition) string {
	return t.policy().FormatInstructions(defs)
}

// ReplySchema implements [Schemer].
func (t Think) ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	return replySchema(t.policy(), defs, must, answer)
}

// FormatQuery implements [Policy]. Past thoughts are written between tags. [GLM], [Kimi],
// [DeepSeek] and [Harmony] write them as their models know them, and leave out those that are not
// told again; [ReAct] writes them as it asks for them.
func (t Think) FormatQuery(h messages.History) (messages.History, error) {
	switch p := t.policy().(type) {
	case Format:
		if p.keep() > thoughtsAll {
			return p.FormatQuery(h)
		}
	case Structured, ReAct:
		return p.FormatQuery(h)
	}
	return formatQuery(h, t.Render, t.results)
}

// results writes results in the form in which the policy that reads the rest writes them after
// calls.
func (t Think) results(outputs []messages.ToolOutput) string {
	var turn messages.Assistant
	h := messages.History{nil}
	for _, o := range outputs {
		turn.Content = append(turn.Content, messages.ToolCall{ID: o.CallID, Name: o.ToolName, Arguments: "{}"})
		h = append(h, messages.Tool{ToolOutput: o})
	}
	h[0] = turn
	rendered, err := t.policy().FormatQuery(h)
	if err != nil {
		return Fenced.row.results(outputs)
	}
	var texts []string
	for _, m := range rendered {
		if u, ok := m.(messages.User); ok {
			texts = append(texts, u.Text())
		}
	}
	return strings.Join(texts, "\n\n")
}

// Render implements [Renderer].
func (t Think) Render(parts []messages.AssistantContent) string {
	var blocks []string
	var rest []messages.AssistantContent
	end := func() {
		if text := render(t.policy(), rest); text != "" {
			blocks = append(blocks, escapeTags(text, isValued(t.policy())))
		}
		rest = nil
	}
	for i, p := range joinTexts(parts) {
		thought, ok := p.(messages.Thought)
		if !ok {
			if i == 0 && t.Start == ThoughtsOpen {
				blocks = append(blocks, thinkTag+thinkEndTag)
			}
			rest = append(rest, p)
			continue
		}
		end()
		blocks = append(blocks, thinkTag+"\n"+strings.ReplaceAll(thought.Text, thinkEndTag, `\`+thinkEndTag)+"\n"+thinkEndTag)
	}
	end()
	return strings.Join(blocks, "\n\n")
}

// escapeTags writes a backslash before each tag that would be read as a tag.
func escapeTags(text string, valued bool) string {
	var b strings.Builder
	values := newShelter(valued)
	from := 0
	for {
		at, length := nextTag(text, from)
		if length == 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		b.WriteString(text[from:at])
		if sheltered, _ := values.around(text, at, at+length, true); !sheltered {
			b.WriteByte('\\')
		}
		b.WriteString(text[at : at+length])
		from = at + length
	}
}

// nextTag returns the position and the length of the next tag, or length 0.
func nextTag(text string, from int) (at, length int) {
	for at = from; ; at++ {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			return len(text), 0
		}
		at += i
		if strings.HasPrefix(text[at:], thinkTag) {
			return at, len(thinkTag)
		}
		if strings.HasPrefix(text[at:], thinkEndTag) {
			return at, len(thinkEndTag)
		}
	}
}

// shelter finds tags that are within quotes or, if valued, within values that are written without
// quotes.
type shelter struct {
	valued bool
	quotes quotes
	values values
}

func newShelter(valued bool) shelter {
	s := shelter{valued: valued}
	if valued {
		s.values.calls = finders(toolCallMarks.open)
		s.values.marks = finders(toolCallMarks.close, pairValue.open, parameterMark)
		s.values.ends = finders(pairValue.close, parameterEnd)
	}
	return s
}

// from returns the shelter for the text from a position.
func (s shelter) from(pos int) shelter {
	s.quotes = quotes{pos: pos}
	s.values.pos, s.values.place = pos, placeText
	return s
}

// around reports whether a tag is within quotes or a value. sure is false if more text is needed.
// Positions must not decrease from call to call.
func (s *shelter) around(text string, at, behind int, final bool) (within, sure bool) {
	if within, sure = s.quotes.around(text, at, behind, final); within || !sure || !s.valued {
		return within, sure
	}
	return s.values.around(text, at, final)
}

// isValued reports whether a policy reads values that are written without quotes.
func isValued(p Policy) bool {
	switch p := p.(type) {
	case Format:
		return p.form().valued
	case Chain:
		return slices.ContainsFunc(p, isValued)
	default:
		return false
	}
}

// values finds the values in calls that are written without quotes, as GLM and Qwen-Coder write
// them. A value ends before its call does, and before the next call begins.
type values struct {
	pos   int // the text before it was read
	place place
	calls []*textscan.Finder // of the mark that begins a call
	marks []*textscan.Finder // of those that begin values, and that ends a call
	ends  []*textscan.Finder // of those that end values
	end   *textscan.Finder   // of the mark that ends the value
}

type place uint8

const (
	placeText place = iota
	placeCall
	placeValue
)

// around reports whether a tag is within a value.
func (v *values) around(text string, at int, final bool) (within, sure bool) {
	if v.read(text, at); v.place != placeValue {
		return false, true
	}
	end, mark := firstMark([]*textscan.Finder{v.calls[0], v.marks[0], v.end}, text, at)
	return mark == v.end.Mark, end >= 0 || final
}

// read reads the text before a position.
func (v *values) read(text string, at int) {
	for {
		var i int
		var mark string
		switch v.place {
		case placeText:
			i, mark = firstMark(v.calls, text, v.pos)
		case placeCall:
			i, mark = firstMark(v.marks, text, v.pos)
		case placeValue:
			i, mark = firstMark([]*textscan.Finder{v.marks[0], v.end}, text, v.pos)
		}
		if i < 0 || i >= at {
			v.pos = at
			return
		}
		switch {
		case v.place == placeText && escapeBefore(text, 0, i) < i:
		case v.place == placeText, v.place == placeValue && mark == v.end.Mark:
			v.place = placeCall
		case mark == pairValue.open:
			v.place, v.end = placeValue, v.ends[0]
		case mark == parameterMark:
			v.place, v.end = placeValue, v.ends[1]
		default:
			v.place = placeText
		}
		v.pos = i + len(mark)
	}
}

// quotes counts double quotes. A lone one, between blanks, begins nothing; nor does one directly
// after a digit, which means inches. One that looks as if it began a quotation ends none.
type quotes struct {
	pos   int // the text before it was read
	odd   bool
	ahead int // from pos to here no quote closes
}

// around reports whether a tag is between two double quotes on its line. sure is false if more of
// the line is needed. Positions must not decrease from call to call.
func (q *quotes) around(text string, at, behind int, final bool) (quoted, sure bool) {
	if !q.open(text, at) {
		return false, true
	}
	for q.ahead = max(q.ahead, behind); q.ahead < len(text); q.ahead++ {
		last := q.ahead+1 == len(text)
		switch text[q.ahead] {
		case '"':
			return !beginsQuotation(text, q.ahead), !last || final
		case '\n':
			return false, true
		case '\\':
			if last {
				return false, final
			}
			q.ahead++
		}
	}
	return false, final
}

// open reports whether a quotation is open at a position, on its line.
func (q *quotes) open(text string, at int) bool {
	if i := strings.LastIndexByte(text[q.pos:at], '\n'); i >= 0 {
		q.pos, q.odd = q.pos+i+1, false
	}
	for q.pos < at {
		i := strings.IndexAny(text[q.pos:at], `"\`)
		if i < 0 {
			q.pos = at
			break
		}
		i += q.pos
		q.pos = i + 1
		switch {
		case text[i] == '"' && q.odd:
			q.odd = beginsQuotation(text, i)
		case text[i] == '"':
			q.odd = !isLoneQuote(text, i)
		case q.pos < at && q.odd: // a character after a backslash does not count
			q.pos++
		}
	}
	return q.odd
}

// beforeString are the bytes of JSON and of prose that may precede a quotation.
const beforeString = "{[(,:"

// isLoneQuote reports whether a quote is directly after a digit, or between blanks after a word.
func isLoneQuote(text string, at int) bool {
	before := strings.TrimRight(text[:at], " \t")
	switch {
	case before == "":
		return false
	case len(before) == at:
		return strings.IndexByte("0123456789", text[at-1]) >= 0
	default:
		return isBlankAt(text, at+1) && strings.IndexByte(beforeString+"\n", before[len(before)-1]) < 0
	}
}

// beginsQuotation reports whether a quote looks as if it began a quotation: what precedes it may
// precede one, and text follows directly.
func beginsQuotation(text string, at int) bool {
	return (isBlankAt(text, at-1) || strings.IndexByte(beforeString, text[at-1]) >= 0) &&
		!isBlankAt(text, at+1) && strings.IndexByte(`,}]):;.!?>/"`, text[at+1]) < 0
}

// isBlankAt reports whether there is a blank, or no text, at a position.
func isBlankAt(text string, at int) bool {
	return at < 0 || at >= len(text) || textscan.IsBlank(text[at])
}

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
