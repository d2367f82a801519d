package markdownpolicy

import (
	"strings"

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
