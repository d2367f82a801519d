package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// bareForm is a form of calls whose marks a server took away: the name of a tool and a JSON object
// are left. They are calls only if the tools are offered, nothing but calls and marks follows, and
// they are not shown as code or as a quotation. Otherwise they are text.
type bareForm struct {
	Options
	head   func(text string, at int, final bool) (tool string, object int, wait bool) // "" if no call begins there
	never  string                                                                     // bytes that may not precede the first call on its line
	syntax tagSyntax                                                                  // marks that may follow a call; those without '<' begin another

	refused int // what begins before it is no call
	shown   commonmark.Shown
}

const neverBeforeCall = textscan.Blanks + "`'\"([{<*_\\"

// stands reports whether calls may begin at a position: with a mark that is left, or at the
// beginning of a line or directly after a text, and not in what is shown as code or as a quotation.
func (f *bareForm) stands(text string, at int) bool {
	begins := at >= f.refused && (commonmark.LineStart(text, at) >= 0 || strings.IndexByte(f.never, text[at-1]) < 0)
	return text[at] == '<' || begins && !f.shown.At(text, at)
}

// block returns the reader of the calls at a position.
func (f *bareForm) block(start, after int) block {
	return &bareBlock{bareForm: f, start: start, after: after, at: start}
}

// bareBlock reads calls of a [bareForm], up to the end of the reply or a mark.
type bareBlock struct {
	*bareForm
	start, after int
	at           int    // where the current call begins
	name         string // its tool, when its head was read
	object       int    // where its arguments begin
	scan         jsonscan.Scanner
	calls        []Part
}

func (b *bareBlock) read(text string, final bool) verdict {
	for {
		if b.name == "" {
			name, object, wait := b.head(text, b.at, final)
			switch {
			case wait:
				return verdict{}
			case name == "" || b.tool(name) == nil || b.at == b.start && !b.stands(text, b.at):
				return b.none(b.at)
			}
			b.name, b.object = name, object
			b.scan.Begin(object)
		}
		behind, state := b.scan.Scan(text)
		end := jsonscan.SkipBlanks(text, behind)
		next, partly := b.syntax.match(text, end)
		switch {
		case !final && (state == jsonscan.More || state == jsonscan.Done && partly):
			return verdict{}
		case state != jsonscan.Done || next == nil && end < len(text) || b.isDefinition(b.name, text[b.object:behind]):
			return b.none(end)
		}
		call := callAt(b.at, b.name, text[b.object:behind])
		call.End = end
		b.calls = append(b.calls, call)
		if next == nil || next.mark[0] == '<' {
			return verdict{kind: isParts, end: end, parts: b.calls}
		}
		b.at, b.name = end, ""
	}
}

// none gives the verdict that there are no calls. None begins before upTo.
func (b *bareBlock) none(upTo int) verdict {
	b.refused = max(b.refused, upTo)
	return verdict{kind: isText, end: b.after, seen: max(b.after, upTo)}
}
