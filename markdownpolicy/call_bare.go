package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// bareForm is a form of calls whose marks a server took away: what is left is the name of a tool and
// a JSON object. It is a call only if the tool is offered, nothing but calls and marks comes after
// it, and it is not shown as code or as a quotation; else it is text.
type bareForm struct {
	Options
	head   func(text string, start int, final bool) (name string, inner int, wait bool) // "" if no call begins here; the object is at inner
	glue   func(before byte) bool                                                       // whether it may follow that byte; nil: it begins a line
	marks  []string                                                                     // begin calls
	closes []string                                                                     // end calls
	ends   []string                                                                     // other marks that may come after a call
	fenced bool                                                                         // the object is in a block of JSON, and fits the schema of the tool

	refused int // what begins before it is part of what was no call
	quoting commonmark.Quoting
	fences  commonmark.Fences
}

// tags returns a tag for each mark.
func (f *bareForm) tags() (tags []tag) {
	if len(f.Tools) == 0 {
		return nil
	}
	for _, mark := range f.marks {
		tags = append(tags, tag{mark, func(start, after int) block {
			return &bareBlock{bareForm: f, start: start, at: start, text: verdict{kind: isText, end: after}}
		}})
	}
	return tags
}

// stands reports whether a call may begin at a position.
func (f *bareForm) stands(text string, at int) bool {
	begins := commonmark.LineStart(text, at) >= 0 || f.glue != nil && f.glue(text[at-1])
	return begins && at >= f.refused && !f.quoting.At(text, at) && !f.fences.At(text, at)
}

// bareBlock reads the calls of a [bareForm], up to the end of the reply or a mark.
type bareBlock struct {
	*bareForm
	start  int
	text   verdict // if there is no call
	marked bool    // it begins with a mark that was left, and may stand anywhere

	at     int // where the current call begins
	name   string
	inner  int // where its object begins; 0 while unknown
	scan   jsonscan.Scanner
	behind int // the position after its object; 0 while unknown
	calls  []Part
}

func (b *bareBlock) read(text string, final bool) verdict {
	for {
		switch v, decided := b.object(text, final); {
		case decided:
			return v
		case b.inner == 0:
			return b.none(b.at)
		}
		end, again, wait := b.next(text, final)
		switch {
		case wait:
			return verdict{}
		case end < 0 || !b.add(text):
			return b.none(max(b.behind, end))
		case !again:
			b.calls[len(b.calls)-1].End = end
			return verdict{kind: isParts, end: end, parts: b.calls}
		}
		b.calls[len(b.calls)-1].End = end
		b.at, b.inner, b.behind = end, 0, 0
	}
}

// none gives the verdict that there is no call. No call begins before upTo.
func (b *bareBlock) none(upTo int) verdict {
	b.refused = max(b.refused, upTo)
	b.text.seen = max(b.text.end, upTo)
	return b.text
}

// object reads a name and the object after it.
func (b *bareBlock) object(text string, final bool) (verdict, bool) {
	if b.inner == 0 {
		if b.at == b.start && !b.marked && !b.stands(text, b.at) {
			return b.text, true
		}
		name, inner, wait := b.head(text, b.at, final)
		if wait {
			return verdict{}, true
		}
		if b.tool(name) == nil {
			return verdict{}, false
		}
		b.name, b.inner = name, inner
		b.scan.Begin(inner)
	}
	if b.behind > 0 {
		return verdict{}, false
	}
	switch stop, state := b.scan.Scan(text); {
	case state == jsonscan.More && !final:
		return verdict{}, true
	case state != jsonscan.Done:
		return b.none(stop), true
	default:
		b.behind = stop
		return verdict{}, false
	}
}

// next reads what follows an object: its fence, and then a mark, another call, or the end of the
// reply. end is where it stands, or -1 if there is something else.
func (b *bareBlock) next(text string, final bool) (end int, again, wait bool) {
	end = jsonscan.SkipBlanks(text, b.behind)
	if b.fenced && strings.IndexByte(text[b.at:b.inner], '`') >= 0 {
		closed, wait := textscan.StandsAt(text, end, "```", final)
		if !closed {
			return -1, false, wait || end == len(text) && !final
		}
		end = jsonscan.SkipBlanks(text, end+len("```"))
	}
	if end == len(text) {
		return end, false, !final
	}
	for i, mark := range slices.Concat(b.closes, b.ends, b.marks) {
		yes, partly := textscan.StandsAt(text, end, mark, final)
		switch {
		case yes && i < len(b.closes):
			return end + len(mark), false, false
		case yes:
			return end, i >= len(b.closes)+len(b.ends), false
		}
		wait = wait || partly
	}
	return -1, false, wait
}

// add adds a call. It returns false if its object is no call of the tool.
func (b *bareBlock) add(text string) bool {
	object := text[b.inner:b.behind]
	if !jsonscan.Valid(object) || b.isDefinition(b.name, object) || b.fenced && !b.fits(b.name, object) {
		return false
	}
	b.calls = append(b.calls, callAt(b.at, b.name, object))
	return true
}
