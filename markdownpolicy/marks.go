package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// tagSyntax is the syntax of formats whose marks are fixed texts, such as "<tool_call>" and
// "[THINK]". A backslash before a mark makes it text; one backslash is then taken away.
type tagSyntax struct {
	tags    []tag
	leads   string            // the bytes that marks begin with
	seconds *textscan.ByteSet // the bytes that come next
	first   *textscan.ByteSet // leads
}

// tag is a mark, and what reads the thing that begins with it.
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
		case t != nil:
			return escapeBefore(text, from, at), true
		case partly && !final:
			return escapeBefore(text, from, at), false
		}
	}
}

// lead returns the place of the first byte at or after from that a mark may begin with, for all
// that the next byte says; or len(text).
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

// match returns the mark that stands at a place. If there is none, partly says that the text may
// end within one.
func (s tagSyntax) match(text string, at int) (found *tag, partly bool) {
	if at+1 < len(text) && !s.seconds[text[at+1]] {
		return nil, false
	}
	rest := text[at:]
	for i := range s.tags {
		mark := s.tags[i].mark
		if strings.HasPrefix(rest, mark) {
			return &s.tags[i], false
		}
		partly = partly || len(rest) < len(mark) && strings.HasPrefix(mark, rest)
	}
	return nil, partly
}

// pendingFrom returns the place from which on a text without a mark may be the beginning of one: a
// backslash at its end.
func pendingFrom(text string, from int, final bool) int {
	if final {
		return len(text)
	}
	return escapeBefore(text, from, len(text))
}

// escapeBefore returns the place of the backslash before at, or at if there is none.
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

// escape writes a text such that no mark is read in it.
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
		}
	}
	return b.String() + text[done:]
}

// render writes parts, with a line break between any two.
func (s tagSyntax) render(parts []messages.AssistantContent, thought tagPair, call func(messages.ToolCall) string) string {
	return writeParts(parts, "\n", s.escape, thought.write, call)
}

// fixedBlock is a block that is known from its mark.
type fixedBlock verdict

func (b fixedBlock) read(string, bool) verdict { return verdict(b) }

// dropped is the tag of a mark that is left out of the text.
func dropped(mark string) tag {
	return tag{mark, func(_, after int) block { return fixedBlock{kind: isParts, end: after} }}
}

// tagPair is the marks around something.
type tagPair struct {
	open, close string
	until       []string // more marks that end it, and are not part of it
}

// thoughtTags are the marks around a thought that most models write.
var thoughtTags = tagPair{open: "<think>", close: "</think>"}

// write writes text between the marks, on lines of its own, such that its end is not read in it.
func (p tagPair) write(text string) string {
	for _, m := range p.ends() {
		text = strings.ReplaceAll(text, m, `\`+m)
	}
	return p.open + "\n" + text + "\n" + p.close
}

// ends returns the marks that end it.
func (p tagPair) ends() []string { return append([]string{p.close}, p.until...) }

// thought is the tag of thoughts. One that is not closed goes to the end.
func (p tagPair) thought() tag {
	ends := p.finders()
	return tag{p.open, func(start, after int) block {
		return &thoughtBlock{start: start, body: after, marks: p, ends: ends, pos: after}
	}}
}

// finders find the marks that end it.
func (p tagPair) finders() (all []*textscan.Finder) {
	for _, mark := range p.ends() {
		all = append(all, &textscan.Finder{Mark: mark})
	}
	return all
}

// thoughtBlock reads a thought.
type thoughtBlock struct {
	start, body int
	marks       tagPair
	ends        []*textscan.Finder
	pos         int // before it there is no end
}

func (b *thoughtBlock) read(text string, final bool) verdict {
	for {
		at, mark := b.next(text)
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

// next returns the first mark that ends the thought, and its place, or -1.
func (b *thoughtBlock) next(text string) (at int, mark string) {
	at = -1
	for _, f := range b.ends {
		if i := f.Next(text, b.pos); i >= 0 && (at < 0 || i <= at) {
			at, mark = i, f.Mark
		}
	}
	return at, mark
}

func (b *thoughtBlock) verdict(text string, bodyEnd, end int) verdict {
	body := text[b.body:bodyEnd]
	for _, m := range b.marks.ends() {
		body = strings.ReplaceAll(body, `\`+m, m)
	}
	return verdict{kind: isParts, end: end, parts: []Part{{Content: messages.Thought{Text: body}, Start: b.start, End: end}}}
}

// markAhead finds out whether something that lacks its closing mark at a place has one behind that,
// before another opening mark. All looks together take linear time.
type markAhead struct{ open, closing textscan.Finder }

func newMarkAhead(open, closing string) *markAhead {
	return &markAhead{textscan.Finder{Mark: open}, textscan.Finder{Mark: closing}}
}

// closes reports whether the closing mark comes first. wait says that more of the text has to come
// to tell.
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

// untaggedSyntax is the syntax of formats whose calls stand in the text without tags around them:
// beside tags, it has a mark that is told by how a call begins. A backslash before a mark makes it
// text; one backslash is then taken away.
type untaggedSyntax struct {
	tags        tagSyntax
	leads       *textscan.ByteSet // the bytes that tags and the mark begin with
	unescapable string            // those of them that no backslash goes before
	mark        untaggedMark
}

// untaggedMark is how a call begins.
type untaggedMark interface {
	// stands reports whether the mark stands at a place, where one of the leads is. If not, partly
	// says that the text may end within it. It looks at a bounded number of bytes.
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

// escapeBefore returns the place of the backslash before the mark at a place, or at if there is
// none.
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

// escape writes a text such that no mark is read in it, where it stands at the beginning of a line.
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

// isStart reports whether only blanks stand before a place.
func isStart(text string, at int) bool { return textscan.TrimLeft(text[:at]) == "" }

// follows reports whether a mark stands before a place, with a few blanks in between at most.
func follows(text string, at int, mark string) bool {
	const gap = 16
	before := text[max(0, at-gap-len(mark)):at]
	return strings.HasSuffix(textscan.TrimRight(before), mark)
}
