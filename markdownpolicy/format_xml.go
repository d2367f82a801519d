package markdownpolicy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// XML is a format that uses only tags:
// <tool_call><name>…</name><arguments>{…}</arguments></tool_call>, with the arguments as a JSON
// object, and thoughts between <think> and </think>. Unlike in XML, nothing is escaped: entities
// are not decoded. Results are written between <tool_result> and </tool_result>.
//
// If Options.Tools are given, XML also reads calls in tags with the names of a tool and its
// parameters, such as <read_file><path>main.go</path></read_file>. A parameter ends at the first
// closing tag that is followed by another parameter of the tool, or by the end of the tool. Its
// text may hold any tags, with one exception: the opening tag of a parameter that the call has
// nowhere else, without the closing tag, is an error, because one of two closing tags is missing.
// Each parameter gets the type that its schema allows, or else is a string. The tag <read_file/> is
// a call without parameters, if the tool requires none and the tag is not in a code span or block,
// in a line that is indented as code, or quoted. So is <function=read_file>…</function>, as
// [Hermes] reads it.
//
// At the end of the text, closing tags may be missing, except the tag of a parameter that is not
// JSON, because the parameter may be cut off. A thought without a closing tag extends to the end.
var XML = Format{row: &row{
	name: "xml",
	told: `You can call tools. Write each call between <tool_call> and </tool_call>: the name of the tool between <name> and </name>, then the ` +
		`arguments between <arguments> and </arguments>, as a JSON object that fits the schema of the tool. Escape in it what JSON escapes, and nothing else. You can make several calls, one after the other. ` + showInstead,
	results: taggedResults("tool_result"),
	syntax:  func(f Format) syntax { return f.xmlSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		return f.xmlSyntax().render(parts, thoughtTags, func(c messages.ToolCall) string {
			arguments := string(appendArguments(nil, c.Arguments))
			if arguments[0] != '{' { // an object ends at its last bracket, other values end at the tag
				arguments = strings.ReplaceAll(arguments, "<", `\u003c`)
			}
			return "<tool_call>\n<name>" + c.Name + "</name>\n<arguments>" + arguments + "</arguments>\n</tool_call>"
		})
	},
}}

func (o Options) xmlSyntax() tagSyntax {
	reused := new(elementBlock) // only one is used at a time
	ends, shown := childEnds{}, new(commonmark.Shown)
	tags := []tag{thoughtTags.thought(), {"<tool_call>", func(start, after int) block {
		e := element{name: "tool_call", closing: "</tool_call>", start: start, after: after, pos: after, children: []string{"name", "arguments"}, json: "arguments", ends: ends, noRepair: o.Mode == ModeText}
		e.scan = reused.scan // reuses its memory
		e.scan.Begin(after)
		*reused = elementBlock{element: e, mode: o.Mode, call: o.readXML}
		return reused
	}}}
	for _, d := range o.Tools {
		if d.Name == "tool_call" || d.Name == "think" {
			continue
		}
		schema := o.properties(d.Name)
		children := slices.Sorted(maps.Keys(schema)) // so that an error names the same one each time
		closing, ends := "</"+d.Name+">", childEnds{}
		for _, mark := range []string{"<" + d.Name + "/>", "<" + d.Name + " />"} {
			tags = append(tags, tag{mark, func(start, after int) block {
				return emptyElement{name: d.Name, start: start, after: after, lacks: o.requires(d.Name), shown: shown}
			}})
		}
		tags = append(tags, tag{"<" + d.Name + ">", func(start, after int) block {
			e := element{name: d.Name, closing: closing, start: start, after: after, pos: after, children: children, ends: ends}
			*reused = elementBlock{element: e, mode: o.Mode, textWithoutChildren: true, call: func(fields []field) (Part, []Repair, *ParseError) {
				return readNamed(d.Name, start, fields, schema)
			}}
			return reused
		}})
	}
	return newTagSyntax(append(tags, o.functionTags(new(int))...)...)
}

// emptyElement is the tag of an element that is its own end.
type emptyElement struct {
	name         string
	start, after int
	lacks        bool // the tool requires parameters
	shown        *commonmark.Shown
}

func (e emptyElement) read(text string, _ bool) verdict {
	if e.lacks || e.shown.At(text, e.start) {
		return verdict{kind: isText, end: e.after}
	}
	part := callAt(e.start, e.name, "{}")
	part.End = e.after
	return verdict{kind: isParts, end: e.after, parts: []Part{part}}
}

// readXML makes a call from a name and arguments.
func (o Options) readXML(fields []field) (Part, []Repair, *ParseError) {
	var name, arguments field
	for _, f := range fields {
		if f.name == "name" {
			name = f
		} else {
			arguments = f
		}
	}
	called := textscan.Trim(name.text)
	if called == "" || strings.ContainsAny(called, "<\n") {
		return Part{}, nil, broken(name.at, "the name of a tool between <name> and </name>", called, nil)
	}
	text := textscan.Trim(arguments.text)
	at := arguments.at + strings.Index(arguments.text, text)
	read := func() (string, []Repair, *ParseError) { return readObject(text, at, o.Mode) }
	if text == "" || text == "null" || text[0] == '"' && json.Valid([]byte(text)) {
		read = func() (string, []Repair, *ParseError) { return readArguments(text, at, o.Mode) }
	}
	object, repairs, err := read()
	if err != nil {
		err.Expected = `the arguments of "` + called + `" as a JSON object between <arguments> and </arguments>`
		return Part{}, nil, err
	}
	return callAt(0, called, object), repairs, nil
}

// readNamed makes a call from parameters in tags of their own.
func readNamed(name string, at int, fields []field, schema map[string]property) (Part, []Repair, *ParseError) {
	arguments := make([]argument, len(fields))
	for i, f := range fields {
		arguments[i] = argument{name: f.name, text: trimLines(f.text)}
	}
	return callAt(at, name, argumentsObject(arguments, schema, property{})), nil, nil
}

// element reads the text after <name>: other elements, up to </name>. A child ends at the first
// closing tag that is followed by another child or by the end of the element. A child that is a
// JSON object ends after its last bracket.
type element struct {
	name     string
	closing  string   // the tag that ends it
	start    int      // the position of the tag
	after    int      // the position after it
	children []string // the allowed children; empty allows any name
	json     string   // the child that may be a JSON object
	ends     childEnds
	noRepair bool // JSON is not repaired
	limited  bool // a value that contains the tag of the element has no end

	pos    int // the text before it was read
	next   int // the position after blanks that were read; may be after pos
	looked int // how far any scan has read
	state  elementState
	scan   jsonscan.Scanner
	child  field // the current child
	fields []field
}

// childEnds finds the closing tags that end a child, by the name of the child. All elements of a
// name share one.
type childEnds map[string]*childEnd

// childEnd finds the closing tags of a child that are followed by another child or the end of the
// element.
type childEnd struct {
	from  int // there is none from here to at
	at    int
	found bool // there is one at at
	next  int  // the position after the blanks after a tag
}

// field is an element that holds text.
type field struct {
	name, text string
	at         int    // the position of the text
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
	elementUnclosed   // the text ends after a child
	elementUnexpected // something at pos does not belong there
	elementCut        // the text ends within a child
	elementBroken     // a child is JSON that cannot be repaired
)

// read continues, and returns false until the end has come.
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

// tagAt returns the tag at a position, and the position after it.
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

// isNameRune reports whether the tag of a child may contain r.
func isNameRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// before determines whether the value is a JSON object.
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

// object searches for the end of a JSON object. A broken object ends where its brackets do, if that
// is before a tag that ends the child, and otherwise where other values end.
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

// afterObject searches for the closing tag after a JSON object. At the end of the text it may be
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

// value searches for the end of the value.
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

// endOf returns the position of the first tag from from on that ends the child, and true; or the
// position before which there is none, and false.
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

// end sets where the value ends and where the following text begins.
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
	ahead               *markAhead // whether the closing tag comes after something unexpected; nil: not yet searched for
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
		err.Offset = max(err.Offset, b.after) // what is missing has no position
		return b.broken(err, seen)
	}
	part.Start, part.End, part.Open = b.start, b.pos, b.state == elementUnclosed
	return verdict{kind: isParts, end: b.pos, parts: []Part{part}, repairs: append(repairs, more...)}
}

// within reports whether unexpected text belongs to the element, and not after an element without
// its closing tag. It belongs if it is a tag, if it continues with JSON, or if the closing tag
// follows it. Only text that will be repaired is examined so closely.
func (b *elementBlock) within(text string, final bool) (yes, wait bool) {
	if b.mode != ModeRepair || text[b.pos] == '<' || text[b.pos] == ',' || text[b.pos] == '"' {
		return true, false
	}
	if b.ahead == nil {
		b.ahead = newMarkAhead(text[b.start:b.after], b.closing)
	}
	return b.ahead.closes(text, b.pos, final)
}

// unclosedChild returns the first field whose text contains the tag of a child without its end, and
// the name in the tag: these may be two fields, the first without an end. The tag of a child that
// the element already has is text.
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

// doubled returns the first field with the name of an earlier one: it is unknown which is meant.
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

// broken reports a text that is meant as a call but is not one. If it becomes text, only the mark
// does, so that a mark directly after it is found.
func (b *elementBlock) broken(err *ParseError, seen int) verdict {
	return verdict{kind: isBroken, end: b.after, seen: seen, err: err}
}

// expected describes what may be between children.
func (b *elementBlock) expected() string {
	if len(b.children) == 0 {
		return "a parameter between tags, or " + b.closing
	}
	return "<" + strings.Join(slices.Sorted(slices.Values(b.children)), ">, <") + "> or " + b.closing
}
