package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// tagSyntax is the syntax of formats whose marks are fixed texts, such as "<tool_call>" and
// "[THINK]". A backslash before a mark makes it text; one backslash is then removed.
type tagSyntax struct {
	tags    []tag
	leads   string            // the bytes that marks begin with
	seconds *textscan.ByteSet // the possible second bytes
	first   *textscan.ByteSet // leads
}

// tag is a mark and the reader of the text that begins with it.
type tag struct {
	mark  string
	begin func(start, after int) block
}

func newTagSyntax(tags ...tag) tagSyntax {
	s := tagSyntax{tags: tags, seconds: new(textscan.ByteSet)}
	for _, t := range tags {
		if !strings.Contains(s.leads, t.mark[:1]) {
			s.leads += t.mark[:1]
		}
		s.seconds[t.mark[1]] = true
	}
	s.first = textscan.NewByteSet(s.leads)
	return s
}

// find implements [syntax].
func (s tagSyntax) find(text string, from int, final bool) (int, bool) {
	for at := from; ; at++ {
		if at = s.lead(text, at); at == len(text) {
			return pendingFrom(text, from, final), false
		}
		switch t, partly := s.match(text, at); {
		case partly && !final:
			return escapeBefore(text, from, at), false
		case t != nil:
			return escapeBefore(text, from, at), true
		}
	}
}

// lead returns the position of the first byte from from on that may begin a mark, as far as the
// next byte shows; or len(text).
func (s tagSyntax) lead(text string, from int) int {
	for at := from; ; at++ {
		if len(s.leads) > 1 {
			at = s.first.Next(text, at)
		} else if i := strings.IndexByte(text[at:], s.leads[0]); i >= 0 {
			at += i
		} else {
			return len(text)
		}
		for at < len(text) && s.first[text[at]] {
			if at+1 == len(text) || s.seconds[text[at+1]] {
				return at
			}
			at++
		}
		if at >= len(text) {
			return len(text)
		}
	}
}

// match returns the first of the marks that is at a position. partly means that the text may end
// within one of those before it.
func (s tagSyntax) match(text string, at int) (found *tag, partly bool) {
	if at+1 < len(text) && !s.seconds[text[at+1]] {
		return nil, false
	}
	rest := text[at:]
	for i := range s.tags {
		mark := s.tags[i].mark
		if strings.HasPrefix(rest, mark) {
			return &s.tags[i], partly
		}
		partly = partly || len(rest) < len(mark) && strings.HasPrefix(mark, rest)
	}
	return nil, partly
}

// pendingFrom returns the position from which a text without a mark may be the beginning of one: a
// backslash at its end.
func pendingFrom(text string, from int, final bool) int {
	if final {
		return len(text)
	}
	return escapeBefore(text, from, len(text))
}

// escapeBefore returns the position of the backslash before at, or at if there is none.
func escapeBefore(text string, from, at int) int {
	if at > from && text[at-1] == '\\' {
		return at - 1
	}
	return at
}

// begin implements [syntax].
func (s tagSyntax) begin(text string, at int) block {
	if text[at] == '\\' {
		t, _ := s.match(text, at+1)
		return fixedBlock{kind: isParts, end: at + 1 + len(t.mark), parts: []Part{
			{Content: messages.Text{Text: t.mark}, Start: at, End: at + 1 + len(t.mark)},
		}}
	}
	t, _ := s.match(text, at)
	return t.begin(at, at+len(t.mark))
}

// escape writes a text so that no mark is read in it.
func (s tagSyntax) escape(text string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; at++ {
		if at = s.lead(text, at); at == len(text) {
			break
		}
		if t, _ := s.match(text, at); t != nil {
			b.WriteString(text[done:at] + `\`)
			done = at
			at += len(t.mark) - 1 // it is read as a whole
		}
	}
	return b.String() + text[done:]
}

// render writes parts, with a line break between any two.
func (s tagSyntax) render(parts []messages.AssistantContent, thought tagPair, call func(messages.ToolCall) string) string {
	return writeParts(parts, "\n", s.escape, thought.write, call)
}

// fixedBlock is a block whose verdict is known from its mark.
type fixedBlock verdict

func (b fixedBlock) read(string, bool) verdict { return verdict(b) }

// dropped returns the tag of a mark that is left out of the text.
func dropped(mark string) tag {
	return tag{mark, func(_, after int) block { return fixedBlock{kind: isParts, end: after} }}
}

// stopping returns the tags of marks with which models end a reply. Servers that leave special
// tokens in the text leave them, too. They are left out at the end of a reply, and are text before.
func stopping(marks ...string) (tags []tag) {
	for _, mark := range marks {
		tags = append(tags, tag{mark, func(_, after int) block { return &stopBlock{after: after, pos: after} }})
	}
	return tags
}

// stopBlock reads the blanks after a mark that may end the reply.
type stopBlock struct{ after, pos int }

func (b *stopBlock) read(text string, final bool) verdict {
	switch b.pos = jsonscan.SkipBlanks(text, b.pos); {
	case b.pos < len(text):
		return verdict{kind: isText, end: b.after}
	case final:
		return verdict{kind: isParts, end: b.pos}
	default:
		return verdict{}
	}
}

// tagPair is a pair of marks around a text.
type tagPair struct {
	open, close string
	until       []string // more marks that may end it, before which it ends; they are escaped in it
}

// thoughtTags are the marks that most models write around a thought.
var thoughtTags = tagPair{open: "<think>", close: "</think>"}

// write writes text between the marks, on lines of its own, so that no end mark is read in it.
func (p tagPair) write(text string) string {
	for _, m := range p.ends() {
		text = strings.ReplaceAll(text, m, `\`+m)
	}
	return p.open + "\n" + text + "\n" + p.close
}

// ends returns the marks that end the text.
func (p tagPair) ends() []string { return append([]string{p.close}, p.until...) }

// thought returns the tag of thoughts. A thought that is not closed extends to the end.
func (p tagPair) thought() tag {
	ends := finders(p.ends()...)
	return tag{p.open, func(start, after int) block {
		return &thoughtBlock{start: start, body: after, marks: p, ends: ends, pos: after}
	}}
}

// finders returns finders for marks, which remember one reply.
func finders(marks ...string) (all []*textscan.Finder) {
	for _, mark := range marks {
		all = append(all, &textscan.Finder{Mark: mark})
	}
	return all
}

// firstMark returns the position of the first mark from from on, and the mark; or -1.
func firstMark(marks []*textscan.Finder, text string, from int) (at int, mark string) {
	at = -1
	for _, f := range marks {
		if i := f.Next(text, from); i >= 0 && (at < 0 || i <= at) {
			at, mark = i, f.Mark
		}
	}
	return at, mark
}

// thoughtBlock reads a thought.
type thoughtBlock struct {
	start, body int
	marks       tagPair
	ends        []*textscan.Finder
	pos         int // there is no end before it
}

func (b *thoughtBlock) read(text string, final bool) verdict {
	for {
		at, mark := firstMark(b.ends, text, b.pos)
		if at < 0 {
			if !final {
				return verdict{}
			}
			return b.verdict(text, len(text), len(text))
		}
		if escapeBefore(text, b.body, at) == at {
			end := at
			if mark == b.marks.close {
				end += len(mark)
			}
			return b.verdict(text, at, end)
		}
		b.pos = at + 1
	}
}

func (b *thoughtBlock) verdict(text string, bodyEnd, end int) verdict {
	body := text[b.body:bodyEnd]
	for _, m := range b.marks.ends() {
		body = strings.ReplaceAll(body, `\`+m, m)
	}
	return verdict{kind: isParts, end: end, parts: []Part{{Content: messages.Thought{Text: body}, Start: b.start, End: end}}}
}

// markAhead determines whether a missing closing mark comes later, before another opening mark. All
// searches together take linear time.
type markAhead struct{ open, closing textscan.Finder }

func newMarkAhead(open, closing string) *markAhead {
	return &markAhead{textscan.Finder{Mark: open}, textscan.Finder{Mark: closing}}
}

// closes reports whether the closing mark comes first. wait means that more text is needed.
func (m *markAhead) closes(text string, pos int, final bool) (yes, wait bool) {
	limit := len(text)
	opening := m.open.Next(text, pos)
	if opening >= 0 {
		limit = opening
	}
	if m.closing.Next(text[:limit], pos) >= 0 {
		return true, false
	}
	return false, opening < 0 && !final
}

// untaggedSyntax is the syntax of formats whose calls have no tags around them. In addition to
// tags, it has a mark that is recognized by how a call begins. A backslash before a mark makes it
// text; one backslash is then removed.
type untaggedSyntax struct {
	tags        tagSyntax
	leads       *textscan.ByteSet // the bytes that may begin tags and the mark
	unescapable string            // those of leads that cannot be escaped by a backslash
	mark        untaggedMark
}

// untaggedMark is the beginning of a call.
type untaggedMark interface {
	// stands reports whether the mark is at a position that holds one of the leads. If not, partly
	// means that the text may end within it. It examines a limited number of bytes.
	stands(text string, at int) (yes, partly bool)

	// begin starts to read at the mark.
	begin(start int) block
}

func newUntaggedSyntax(leads string, mark untaggedMark, tags ...tag) untaggedSyntax {
	s := untaggedSyntax{tags: newTagSyntax(tags...), mark: mark}
	s.leads = textscan.NewByteSet(leads + s.tags.leads)
	return s
}

// find implements [syntax].
func (s untaggedSyntax) find(text string, from int, final bool) (int, bool) {
	for at := from; ; at++ {
		if at = s.leads.Next(text, at); at == len(text) {
			return pendingFrom(text, from, final), false
		}
		switch yes, partly := s.stands(text, at); {
		case yes:
			return s.escapeBefore(text, from, at), true
		case partly && !final:
			return s.escapeBefore(text, from, at), false
		}
	}
}

// escapeBefore returns the position of the backslash before the mark at at, or at if there is none.
func (s untaggedSyntax) escapeBefore(text string, from, at int) int {
	if s.isUnescapable(text[at]) {
		return at
	}
	return escapeBefore(text, from, at)
}

func (s untaggedSyntax) isUnescapable(lead byte) bool {
	return strings.IndexByte(s.unescapable, lead) >= 0
}

func (s untaggedSyntax) stands(text string, at int) (yes, partly bool) {
	if s.tags.first[text[at]] {
		t, partly := s.tags.match(text, at)
		return t != nil, partly
	}
	return s.mark.stands(text, at)
}

// begin implements [syntax].
func (s untaggedSyntax) begin(text string, at int) block {
	mark := at
	if text[at] == '\\' {
		mark++
	}
	switch {
	case s.tags.first[text[mark]]:
		return s.tags.begin(text, at)
	case mark > at:
		literal := Part{Content: messages.Text{Text: text[mark : mark+1]}, Start: at, End: mark + 1}
		return fixedBlock{kind: isParts, end: mark + 1, parts: []Part{literal}}
	default:
		return s.mark.begin(at)
	}
}

// escape writes a text so that no mark is read in it, if it is put at the beginning of a line.
func (s untaggedSyntax) escape(text string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; at++ {
		if at = s.leads.Next(text, at); at == len(text) {
			return b.String() + text[done:]
		}
		if yes, _ := s.stands(text, at); yes && !s.isUnescapable(text[at]) {
			b.WriteString(text[done:at] + `\`)
			done = at
		}
	}
}

// escapeAll writes a text as escape does, so that no mark after it is escaped.
func (s untaggedSyntax) escapeAll(text string) string { return unescaping(s.escape(text)) }

// isStart reports whether only blanks precede a position.
func isStart(text string, at int) bool { return textscan.TrimLeft(text[:at]) == "" }

// follows reports whether a mark precedes a position, with at most a few blanks in between.
func follows(text string, at int, mark string) bool {
	const gap = 16
	before := text[max(0, at-gap-len(mark)):at]
	return strings.HasSuffix(textscan.TrimRight(before), mark)
}
