package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// element reads what stands behind <name>: other elements, up to </name>. A child ends at the first
// closing tag that is followed by another child or by the end of the element; where it is a JSON
// object, behind its last bracket.
type element struct {
	name     string
	closing  string   // the tag that ends it
	start    int      // the place of the tag
	after    int      // the place behind it
	children []string // what may stand in it; empty: any name
	json     string   // the child that may be a JSON object
	ends     childEnds
	noRepair bool // JSON is not mended
	limited  bool // a value that holds the tag of the element has no end

	pos    int // looked at so far
	next   int // behind blanks that have been looked at, and may be behind pos
	looked int // how far any scan went
	state  elementState
	scan   jsonscan.Scanner
	child  field // the one that is read
	fields []field
}

// childEnds finds, by the name of the child, the closing tags that end one. There is one for all
// elements of a name.
type childEnds map[string]*childEnd

// childEnd finds the closing tags of a child that are followed by another child or the end of the
// element.
type childEnd struct {
	from  int // from here to at there is none
	at    int
	found bool // there is one at at
	next  int  // behind the blanks behind a tag
}

// field is an element that holds text.
type field struct {
	name, text string
	at         int    // the place of the text
	closing    string // the tag that ends it
}

type elementState uint8

const (
	betweenChildren elementState = iota
	beforeValue
	inJSON
	afterJSON
	inValue
	elementClosed     // by its tag
	elementUnclosed   // the text ends behind a child
	elementUnexpected // something stands at pos that does not belong there
	elementCut        // the text ends within a child
	elementBroken     // a child is no JSON that could be mended
)

// read looks on, and returns false while the end is not there.
func (e *element) read(text string, final bool) bool {
	for e.state < elementClosed {
		var ok bool
		switch e.state {
		case betweenChildren:
			ok = e.between(text, final)
		case beforeValue:
			ok = e.before(text, final)
		case inJSON:
			ok = e.object(text, final)
		case afterJSON:
			ok = e.afterObject(text, final)
		default:
			ok = e.value(text, final)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (e *element) between(text string, final bool) bool {
	e.pos = jsonscan.SkipBlanks(text, e.pos)
	name, end, kind := e.tagAt(text, e.pos, final)
	switch {
	case kind == tagPartly:
		return false
	case kind == tagOpen:
		e.child = field{name: name, at: end, closing: "</" + name + ">"}
		e.pos, e.state = end, beforeValue
	case kind == tagClose:
		e.pos, e.state = end, elementClosed
	case strings.HasPrefix(e.closing, text[e.pos:]):
		e.pos, e.state = len(text), elementUnclosed
	default:
		e.state = elementUnexpected
	}
	return true
}

type tagKind uint8

const (
	tagNone   tagKind = iota
	tagPartly         // the text ends within what may be one
	tagOpen           // of a child
	tagClose          // of the element
)

// tagAt returns the tag that stands at a place, and the place behind it.
func (e *element) tagAt(text string, pos int, final bool) (name string, end int, kind tagKind) {
	const longest = 128 // name of a child
	switch closed, wait := textscan.StandsAt(text, pos, e.closing, final); {
	case closed:
		return "", pos + len(e.closing), tagClose
	case wait || pos == len(text) && !final:
		return "", pos, tagPartly
	case pos == len(text) || text[pos] != '<':
		return "", pos, tagNone
	}
	window := text[pos+1 : min(len(text), pos+1+longest)]
	i := strings.IndexFunc(window, func(r rune) bool { return !isNameRune(r) })
	if i < 0 && len(window) < longest && !final {
		return "", pos, tagPartly
	}
	if i <= 0 || window[i] != '>' || len(e.children) > 0 && !slices.Contains(e.children, window[:i]) {
		return "", pos, tagNone
	}
	return window[:i], pos + 1 + i + 1, tagOpen
}

// isNameRune reports whether tags of children may hold it.
func isNameRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// before looks whether the value is a JSON object.
func (e *element) before(text string, final bool) bool {
	e.state = inValue
	if e.child.name != e.json {
		return true
	}
	e.next = jsonscan.SkipBlanks(text, max(e.pos, e.next))
	if e.next == len(text) && !final {
		e.state = beforeValue
		return false
	}
	if e.next < len(text) && text[e.next] == '{' {
		e.state = inJSON
		e.scan.Begin(e.next)
	}
	return true
}

// object looks for the end of a JSON object. One that is broken ends where its brackets do, if that
// is before a tag that ends the child, or else as other values do.
func (e *element) object(text string, final bool) bool {
	stop, state := e.scan.Scan(text)
	switch state {
	case jsonscan.Done:
		e.pos, e.state = stop, afterJSON
		return true
	case jsonscan.More:
		if final {
			e.state = inValue
		}
		return final
	default: // it is broken
	}
	if e.noRepair {
		e.pos, e.state = stop, elementBroken
		return true
	}
	upTo, found := e.endOf(text, stop, final)
	if final && !found {
		upTo = len(text)
	}
	end, ok := e.scan.End(text[:upTo])
	switch {
	case ok:
		e.pos, e.state = end, afterJSON
	case found || final:
		e.state = inValue
	default:
		return false
	}
	return true
}

// afterObject looks for the closing tag behind a JSON object. At the end of the text it may be
// missing.
func (e *element) afterObject(text string, final bool) bool {
	closing := e.child.closing
	e.next = jsonscan.SkipBlanks(text, max(e.pos, e.next))
	at := e.next
	switch closed, wait := textscan.StandsAt(text, at, closing, final); {
	case closed:
		e.end(text, e.pos, at+len(closing))
	case wait || at == len(text) && !final:
		return false
	case strings.HasPrefix(closing, text[at:]):
		e.end(text, e.pos, len(text))
	default:
		e.state = inValue
	}
	return true
}

// value looks for the end of the value.
func (e *element) value(text string, final bool) bool {
	at, found := e.endOf(text, e.pos, final)
	switch {
	case !found && !final:
		return false
	case !found, e.limited && strings.Contains(text[e.child.at:at], text[e.start:e.after]):
		e.state = elementCut
	default:
		e.end(text, at, at+len(e.child.closing))
	}
	return true
}

// endOf returns the place of the first tag at or after a place that ends the child, or, and false,
// the place before which there is none.
func (e *element) endOf(text string, from int, final bool) (at int, found bool) {
	f := e.ends[e.child.name]
	if f == nil {
		f = new(childEnd)
		e.ends[e.child.name] = f
	}
	if from < f.from || from > f.at {
		*f = childEnd{from: from, at: from}
	}
	mark := e.child.closing
	for !f.found {
		i := strings.Index(text[f.at:], mark)
		if i < 0 {
			f.at = max(f.at, len(text)-len(mark)+1)
			return f.at, false
		}
		f.at += i
		f.next = jsonscan.SkipBlanks(text, max(f.next, f.at+len(mark)))
		_, _, kind := e.tagAt(text, f.next, final)
		if kind == tagPartly {
			return f.at, false
		}
		if f.found = kind != tagNone || strings.HasPrefix(e.closing, text[f.next:]); !f.found {
			f.at++
		}
	}
	return f.at, true
}

// end says where the value ends, and what follows begins.
func (e *element) end(text string, at, after int) {
	e.child.text = text[e.child.at:at]
	e.fields = append(e.fields, e.child)
	e.looked = max(e.looked, e.scan.Looked())
	e.pos, e.state = after, betweenChildren
}

// elementBlock is the block of an element that is a call.
type elementBlock struct {
	element
	mode                Mode
	textWithoutChildren bool
	call                func([]field) (Part, []Repair, *ParseError)
	ahead               *markAhead // whether the closing tag comes behind something unexpected; nil: not looked for yet
}

// limitLookahead implements [lookaheadLimiter].
func (b *elementBlock) limitLookahead() { b.limited = true }

func (b *elementBlock) read(text string, final bool) verdict {
	if !b.element.read(text, final) {
		return verdict{}
	}
	seen := max(b.pos, b.looked)
	if b.textWithoutChildren && len(b.fields) == 0 && (b.state == elementUnexpected || b.state == elementUnclosed) {
		return verdict{kind: isText, end: b.after, seen: seen}
	}
	var repairs []Repair
	switch b.state {
	case elementUnexpected:
		switch within, wait := b.within(text, final); {
		case wait:
			return verdict{}
		case within:
			return b.broken(brokenFrom(text, b.pos, b.expected()), seen)
		}
		repairs = append(repairs, Repair{Offset: b.pos, What: "added the missing " + b.closing})
	case elementCut:
		return b.broken(broken(len(text), b.child.closing, "", nil), len(text))
	case elementBroken:
		return b.broken(broken(b.pos, "a JSON object", "", nil), seen)
	default: // it is whole
	}
	if twice, ok := doubled(b.fields); ok {
		return b.broken(broken(twice.at, "<"+twice.name+"> once in <"+b.name+">", twice.text, nil), seen)
	}
	if in, tag := b.unclosedChild(); tag != "" {
		return b.broken(broken(in.at, in.closing+" behind the text of <"+in.name+">, before <"+tag+">", in.text, nil), seen)
	}
	part, more, err := b.call(b.fields)
	if err != nil {
		return b.broken(err, seen)
	}
	part.Start, part.End, part.Open = b.start, b.pos, b.state == elementUnclosed
	return verdict{kind: isParts, end: b.pos, parts: []Part{part}, repairs: append(repairs, more...)}
}

// within reports whether something unexpected belongs to the element, rather than behind one
// without its closing tag: it is a tag, it goes on with JSON, or the closing tag stands behind it.
// What is to be mended is looked at so closely only.
func (b *elementBlock) within(text string, final bool) (yes, wait bool) {
	if b.mode != ModeRepair || text[b.pos] == '<' || text[b.pos] == ',' || text[b.pos] == '"' {
		return true, false
	}
	if b.ahead == nil {
		b.ahead = newMarkAhead(text[b.start:b.after], b.closing)
	}
	return b.ahead.closes(text, b.pos, final)
}

// unclosedChild returns the first field whose text holds the tag of a child without its end, and
// the name of that: perhaps they are two, of which the first has no end. A tag of a child that
// stands elsewhere in the element is text.
func (b *elementBlock) unclosedChild() (in field, tag string) {
	for _, f := range b.fields {
		if f.name == b.json {
			continue
		}
		for _, child := range b.children {
			if strings.Count(f.text, "<"+child+">") <= strings.Count(f.text, "</"+child+">") {
				continue
			}
			if child == f.name || !slices.ContainsFunc(b.fields, func(other field) bool { return other.name == child }) {
				return f, child
			}
		}
	}
	return field{}, ""
}

// doubled returns the first field with the name of one before it: which of them is meant cannot be
// known.
func doubled(fields []field) (field, bool) {
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.name] {
			return f, true
		}
		seen[f.name] = true
	}
	return field{}, false
}

// broken says that it is meant as a call and is none. As text it is the mark alone, so that what is
// right behind it is found.
func (b *elementBlock) broken(err *ParseError, seen int) verdict {
	return verdict{kind: isBroken, end: b.after, seen: seen, err: err}
}

// expected is what may stand between children.
func (b *elementBlock) expected() string {
	if len(b.children) == 0 {
		return "a parameter between tags, or " + b.closing
	}
	return "<" + strings.Join(slices.Sorted(slices.Values(b.children)), ">, <") + "> or " + b.closing
}
