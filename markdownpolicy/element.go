package markdownpolicy

import (
	"slices"
	"strings"
)

// element reads what stands behind <name>: other elements, up to </name>. A child ends at the first closing tag that is
// followed by another child or by the end of the element; where it is a JSON object, behind its last bracket.
type element struct {
	name     string
	closing  string   // the tag that ends it
	start    int      // the place of the tag
	after    int      // the place behind it
	children []string // what may stand in it; empty: any name
	json     string   // the child that may be a JSON object

	pos    int // looked at so far
	next   int // behind blanks that have been looked at, and may be behind pos
	state  elementState
	scan   jsonScan
	child  field // the one that is read
	fields []field
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
	elementClosed   // by its tag
	elementUnclosed // the text ends behind a child
	elementStrange  // something stands at pos that does not belong there
	elementCut      // the text ends within a child
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
	e.pos = skipBlanks(text, e.pos)
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
		e.state = elementStrange
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
	switch closed, wait := standsAt(text, pos, e.closing, final); {
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
	e.next = skipBlanks(text, max(e.pos, e.next))
	if e.next == len(text) && !final {
		e.state = beforeValue
		return false
	}
	if e.next < len(text) && text[e.next] == '{' {
		e.state, e.scan = inJSON, jsonScan{pos: e.next}
	}
	return true
}

// object looks for the end of a JSON object. If there is none, as a bracket is missing, it ends as other values do.
func (e *element) object(text string, final bool) bool {
	end, ok := e.scan.scan(text)
	switch {
	case ok:
		e.pos, e.state = end, afterJSON
	case final:
		e.state = inValue
	}
	return ok || final
}

// afterObject looks for the closing tag behind a JSON object. At the end of the text it may be missing.
func (e *element) afterObject(text string, final bool) bool {
	closing := e.child.closing
	e.next = skipBlanks(text, max(e.pos, e.next))
	at := e.next
	switch closed, wait := standsAt(text, at, closing, final); {
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
	closing := e.child.closing
	for {
		i := strings.Index(text[e.pos:], closing)
		if i < 0 {
			e.pos = max(e.pos, len(text)-len(closing)+1)
			if final {
				e.state = elementCut
			}
			return final
		}
		at := e.pos + i
		e.next = skipBlanks(text, max(e.next, at+len(closing)))
		_, _, kind := e.tagAt(text, e.next, final)
		if kind == tagPartly {
			e.pos = at
			return false
		}
		if kind != tagNone || strings.HasPrefix(e.closing, text[e.next:]) {
			e.end(text, at, at+len(closing))
			return true
		}
		e.pos = at + 1
	}
}

// end says where the value ends, and what follows begins.
func (e *element) end(text string, at, after int) {
	e.child.text = text[e.child.at:at]
	e.fields = append(e.fields, e.child)
	e.pos, e.state, e.scan = after, betweenChildren, jsonScan{}
}

// elementBlock is the block of an element that is a call.
type elementBlock struct {
	element
	mode   Mode
	casual bool // without a child it is text
	call   func([]field) (Part, []Repair, *ParseError)
}

func (b *elementBlock) read(text string, final bool) verdict {
	if !b.element.read(text, final) {
		return verdict{}
	}
	seen := max(b.pos, b.scan.pos)
	if b.casual && len(b.fields) == 0 && (b.state == elementStrange || b.state == elementUnclosed) {
		return verdict{kind: isText, end: b.after, seen: seen}
	}
	var repairs []Repair
	switch b.state {
	case elementStrange:
		if b.mode != ModeRepair {
			return b.broken(brokenFrom(text, b.pos, b.expected()), seen)
		}
		repairs = append(repairs, Repair{Offset: b.pos, What: "added the missing " + b.closing})
	case elementCut:
		return b.broken(broken(len(text), b.child.closing, "", nil), len(text))
	default: // it is whole
	}
	if twice, ok := doubled(b.fields); ok {
		return b.broken(broken(twice.at, "<"+twice.name+"> once in <"+b.name+">", twice.text, nil), seen)
	}
	part, more, err := b.call(b.fields)
	if err != nil {
		return b.broken(err, seen)
	}
	part.Start, part.End, part.Open = b.start, b.pos, b.state == elementUnclosed
	return verdict{kind: isParts, end: b.pos, parts: []Part{part}, repairs: append(repairs, more...)}
}

// doubled returns the first field with the name of one before it: which of them is meant cannot be known.
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

// broken says that it is meant as a call and is none. As text it is the mark alone, so that what is right behind it is found.
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
