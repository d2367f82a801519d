package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// rawSyntax is the syntax of formats whose calls stand in the text without tags around them: beside
// tags, it has a mark that is told by how a call begins. A backslash before a mark makes it text;
// one backslash is then taken away.
type rawSyntax struct {
	tags  tagSyntax
	leads *byteSet // the bytes that tags and the mark begin with
	bare  string   // those of them that no backslash goes before
	mark  rawMark
}

// rawMark is how a call begins.
type rawMark interface {
	// stands reports whether the mark stands at a place, where one of the leads is. If not, partly
	// says that the text may end within it. It looks at a bounded number of bytes.
	stands(text string, at int) (yes, partly bool)

	// begin starts to read at the mark.
	begin(start int) block
}

func newRawSyntax(leads string, mark rawMark, tags ...tag) rawSyntax {
	s := rawSyntax{tags: newTagSyntax(tags...), mark: mark}
	s.leads = newByteSet(leads + s.tags.leads)
	return s
}

// find implements [syntax].
func (s rawSyntax) find(text string, from int, final bool) (int, bool) {
	for at := from; ; at++ {
		if at = s.leads.next(text, at); at == len(text) {
			return held(text, from, final), false
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
func (s rawSyntax) escapeBefore(text string, from, at int) int {
	if s.isBare(text[at]) {
		return at
	}
	return escapeBefore(text, from, at)
}

func (s rawSyntax) isBare(lead byte) bool { return strings.IndexByte(s.bare, lead) >= 0 }

func (s rawSyntax) stands(text string, at int) (yes, partly bool) {
	if s.tags.first[text[at]] {
		t, partly := s.tags.match(text, at)
		return t != nil, partly
	}
	return s.mark.stands(text, at)
}

// begin implements [syntax].
func (s rawSyntax) begin(text string, at int) block {
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
func (s rawSyntax) escape(text string) string {
	var b strings.Builder
	done := 0
	for at := 0; ; at++ {
		if at = s.leads.next(text, at); at == len(text) {
			return b.String() + text[done:]
		}
		if yes, _ := s.stands(text, at); yes && !s.isBare(text[at]) {
			b.WriteString(text[done:at] + `\`)
			done = at
		}
	}
}

// mayCall reports whether a name is that of a tool, as far as that is known.
func (o Options) mayCall(name string) bool {
	if o.Tools == nil {
		return true
	}
	return slices.ContainsFunc(o.Tools, func(d tools.Definition) bool { return d.Name == name })
}

// isStart reports whether only blanks stand before a place.
func isStart(text string, at int) bool { return trimBlanksLeft(text[:at]) == "" }

// follows reports whether a mark stands before a place, with a few blanks in between at most.
func follows(text string, at int, mark string) bool {
	const gap = 16
	before := text[max(0, at-gap-len(mark)):at]
	return strings.HasSuffix(trimBlanksRight(before), mark)
}
