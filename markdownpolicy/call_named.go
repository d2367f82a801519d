package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// namedForm is a form of calls in which the name of the tool and a mark precede the arguments, a
// JSON object: OPEN name BEHIND {…} CLOSE. Without arguments there may be nothing in their place.
type namedForm struct {
	open, behind string
	closings     []string                            // the marks that end a call; the first is added if it is missing
	shown        string                              // what precedes the mark, in errors
	name         func(o Options, head string) string // the name in it, "" if there is none; nil: the whole
}

// tag returns the tag of the mark that begins a call.
func (f namedForm) tag(o Options) tag {
	ends := finders(f.closings...)
	return tag{f.open, func(start, after int) block {
		return &namedBlock{form: f, callBlock: callBlock{Options: o, start: start, after: after, ends: ends}}
	}}
}

// namedBlock reads a call of a [namedForm]. Its callBlock reads the arguments and what follows.
type namedBlock struct {
	callBlock
	form namedForm
}

func (b *namedBlock) read(text string, final bool) verdict {
	if b.name == "" {
		at, wait := endOfHead(text, b.after, b.form.behind, final)
		switch {
		case wait:
			return verdict{}
		case at >= 0:
			b.name, b.pos = textscan.Trim(text[b.after:at]), at+len(b.form.behind)
		}
		if b.form.name != nil {
			b.name = b.form.name(b.Options, b.name)
		}
		if b.name == "" || strings.ContainsAny(b.name, " \t\r\n`\"<>") {
			expected := b.form.open + b.form.shown + b.form.behind + "{…}" + b.form.closings[0]
			return b.broken(brokenFrom(text, b.after, expected), b.after)
		}
	}
	return b.callBlock.read(text, final)
}

// longestHead is the greatest length of what precedes the arguments.
const longestHead = 512

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// nameBytes are the bytes of names of tools.
const nameBytes = letters + "_-.:/$"

// endOfHead returns the position of the mark after what precedes the arguments, or -1. wait means
// that more text is needed.
func endOfHead(text string, from int, mark string, final bool) (at int, wait bool) {
	window := text[from:min(len(text), from+longestHead)]
	if at = strings.Index(window, mark); at < 0 {
		return -1, len(window) < longestHead && !final
	}
	return from + at, false
}

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
