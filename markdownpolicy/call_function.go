package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// This file reads <function=name>…</function>, as Qwen3-Coder, Llama 3.1 and Functionary write it,
// with or without marks around it, and the same with other tags.

const (
	functionMark  = "<function="
	functionEnd   = "</function>"
	parameterMark = "<parameter="
	parameterEnd  = "</parameter>"
)

// functionForm has the tags around a call, and around each of its parameters, whose names follow
// the opening tags.
type functionForm struct {
	call, parameter tagPair
	unknown         property // of parameters of which the schema says nothing
	typed           bool     // the tag of a parameter says whether its value is a string, or JSON
}

var functions = functionForm{call: tagPair{open: functionMark, close: functionEnd}, parameter: tagPair{open: parameterMark, close: parameterEnd}}

// values is the form of the parameters.
func (f functionForm) values() valueForm {
	return valueForm{f.parameter, []string{f.parameter.open, f.call.close}, f.call}
}

// readFunctions reads one function or several.
func (o Options) readFunctions(form functionForm, body string, at int) (calls []Part, repairs []Repair, _ *ParseError) {
	for pos := 0; pos < len(body); pos = jsonscan.SkipBlanks(body, pos) {
		call, more, end, err := o.readFunction(form, body, pos, at)
		if err != nil {
			return nil, nil, err
		}
		calls, repairs, pos = append(calls, call), append(repairs, more...), end
	}
	return calls, repairs, nil
}

// readFunction reads <function=name><parameter=key>value</parameter>…</function> at a position of a
// body, or <function=name>{…}</function>, or <function=name/>. At the end of the body the last
// closing tags may be missing. It returns the position after the call. at is the offset of the
// body.
//
// A value ends as [valueScan] says. A value that contains the tag of another parameter without its
// end is an error, because it may be two parameters of which the first has no end.
func (o Options) readFunction(form functionForm, body string, start, at int) (_ Part, _ []Repair, end int, err *ParseError) {
	name, pos, ok := attribute(body, start, form.call.open)
	if !ok || name == "" || name == "/" {
		return Part{}, nil, 0, broken(at+start, form.call.open+"name>", body[start:], nil)
	}
	name, empty := strings.CutSuffix(name, "/")
	name = unquoted(name)
	held, repairs := "{}", []Repair(nil)
	switch next := jsonscan.SkipBlanks(body, pos); {
	case empty:
	case next < len(body) && body[next] == '{':
		held, repairs, pos, err = o.readFunctionObject(form, body, next, name, at)
	default:
		held, pos, err = o.readParameters(form, body, pos, name, at)
	}
	if err != nil {
		return Part{}, nil, 0, err
	}
	pos = jsonscan.SkipBlanks(body, pos)
	rest := body[pos:]
	switch {
	case strings.HasPrefix(rest, form.call.close):
		pos += len(form.call.close)
	case strings.HasPrefix(form.call.close, rest): // cut off
		pos = len(body)
	case !empty:
		return Part{}, nil, 0, broken(at+pos, form.parameter.open+"key> or "+form.call.close, rest, nil)
	}
	if after := jsonscan.SkipBlanks(body, pos); after < len(body) && !strings.HasPrefix(body[after:], form.call.open) {
		return Part{}, nil, 0, broken(at+after, "the end of the call, or another "+form.call.open+"name>", body[after:], nil)
	}
	return callAt(at+start, name, held), repairs, pos, nil
}

// readFunctionObject reads arguments that are a JSON object. A broken object ends where its
// brackets do, or before the closing tag.
func (o Options) readFunctionObject(form functionForm, body string, pos int, name string, at int) (object string, repairs []Repair, end int, err *ParseError) {
	scan := jsonscan.At(pos)
	end, ok := scan.End(body)
	if !ok {
		end = len(body)
		if i := strings.Index(body[pos:], form.call.close); i >= 0 {
			end = pos + i
		}
	}
	object, repairs, err = readObject(body[pos:end], at+pos, o.Mode)
	if err != nil {
		err.Expected = `the arguments of "` + name + `" as a JSON object`
	}
	return object, repairs, end, err
}

// readParameters reads the parameters of a function, up to what is none.
func (o Options) readParameters(form functionForm, body string, pos int, name string, at int) (object string, end int, _ *ParseError) {
	var arguments []argument
	for {
		pos = jsonscan.SkipBlanks(body, pos)
		key, value, ok := attribute(body, pos, form.parameter.open)
		if !ok {
			break
		}
		scan := valueScan{valueForm: form.values(), pos: value, inside: true}
		end := scan.end(body)
		if end < 0 || strings.HasSuffix(key, "/") {
			return "", 0, broken(at+value, form.parameter.close, body[value:], nil)
		}
		arguments = append(arguments, readParameter(key, body[value:end]))
		pos = end + len(form.parameter.close)
	}
	if key, again := repeatedName(arguments); again {
		return "", 0, repeated(at, form.parameter.open+key+">", body)
	}
	if a, again := form.unclosed(arguments); again != "" {
		return "", 0, broken(at, form.parameter.close+" behind the value of "+form.parameter.open+a.name+">, before "+form.parameter.open+again+">", a.text, nil)
	}
	return argumentsObject(arguments, o.properties(name), form.unknown), pos, nil
}

// readParameter returns an argument by what follows its opening tag, name or "name" string="true",
// and its text.
func readParameter(key, text string) argument {
	key, kind, typed := strings.Cut(key, " string=")
	a := argument{name: unquoted(key), text: trimLines(text)}
	switch {
	case typed && unquoted(kind) == "true":
		a.json = jsonscan.Quote(text)
	case typed && json.Valid([]byte(a.text)):
		a.json = a.text
	}
	return a
}

// attribute reads a tag such as <function=name>. It returns the name and the position after the
// tag.
func attribute(text string, pos int, open string) (name string, end int, ok bool) {
	rest, ok := strings.CutPrefix(text[pos:], open)
	if !ok {
		return "", pos, false
	}
	i := strings.IndexAny(rest, ">\n")
	if i < 0 || rest[i] != '>' {
		return "", pos, false
	}
	return strings.TrimSpace(rest[:i]), pos + len(open) + i + 1, true
}

// unquoted returns the name in a tag without quotes around it. What is no name keeps its quotes.
func unquoted(name string) string {
	name = strings.TrimSpace(name)
	n := len(name)
	if n <= 2 || name[0] != '"' && name[0] != '\'' || name[n-1] != name[0] {
		return name
	}
	inner := name[1 : n-1]
	if strings.IndexFunc(inner, func(r rune) bool { return !isNameRune(r) }) >= 0 {
		return name
	}
	return inner
}

// functionTags returns the tag of a function without marks around it. It is a call only if the
// tools are known, it has the name of one of them, it is not shown as code or as a quotation, and
// it does not begin before refused: there it is part of a call that could not be read.
func (o Options) functionTags(refused *int) []tag {
	if len(o.Tools) == 0 {
		return nil
	}
	ends, shown := &textscan.Finder{Mark: functionEnd}, new(commonmark.Shown)
	return []tag{{functionMark, func(start, after int) block {
		return &functionBlock{Options: o, start: start, after: after, ends: ends, refused: refused, shown: shown}
	}}}
}

// beginsFunction reports whether the text after the mark of a function is the name of a known tool.
// wait means that more text is needed.
func (o Options) beginsFunction(text string, after int, final bool) (yes, wait bool) {
	name, _, _, wait := functionName(text, after, final)
	return o.tool(name) != nil, wait
}

// functionName returns the name in the tag of a function, the position after the tag, and whether
// the tag is the whole call. wait means that more text is needed.
func functionName(text string, after int, final bool) (name string, end int, empty, wait bool) {
	const longest = 256 // tag
	tag := text[after:min(len(text), after+longest)]
	i := strings.IndexAny(tag, ">\n<")
	if i <= 0 || tag[i] != '>' {
		return "", after, false, i < 0 && len(tag) < longest && !final
	}
	name, empty = strings.CutSuffix(strings.TrimSpace(tag[:i]), "/")
	return unquoted(name), after + i + 1, empty, false
}

// functionBlock reads a function without marks around it.
type functionBlock struct {
	Options
	start, after int
	ends         *textscan.Finder // finds closing tags
	refused      *int             // the end of the last call that could not be read
	shown        *commonmark.Shown

	limited bool // a function that contains another has no end
	kind    functionKind
	pos     int // the text before it was read
	scan    jsonscan.Scanner
	end     int // of the function; 0 while unknown
	looked  int // how far the search for the end has read
	cut     bool
	err     *ParseError // what is in the place of the closing tag
	values  valueScan   // of the parameters
}

type functionKind uint8

const (
	functionUnknown    functionKind = iota
	functionParameters              // parameters between tags, or nothing
	functionObject                  // a JSON object
	functionEmpty                   // the tag is the whole call
	functionNone                    // it is not meant as a call
)

// limitLookahead implements [lookaheadLimiter].
func (b *functionBlock) limitLookahead() { b.limited = true }

func (b *functionBlock) read(text string, final bool) verdict {
	if b.kind == functionUnknown && !b.open(text, final) {
		return verdict{}
	}
	if b.kind != functionNone && b.end == 0 && !b.findEnd(text, final) {
		return verdict{}
	}
	switch {
	case b.kind == functionNone:
		return verdict{kind: isText, end: b.after, seen: b.pos}
	case b.err != nil:
		return b.broken(b.err, b.pos)
	}
	behind, wait := b.behindMark(text, final)
	if wait {
		return verdict{}
	}
	source, closed := closeParameter(text[b.start:b.end], b.start, b.Mode)
	call, repairs, _, err := b.readFunction(functions, source, 0, b.start)
	if err != nil {
		return b.broken(err, max(b.end, b.looked))
	}
	call.Start, call.End, call.Open = b.start, behind, b.cut
	b.shown.Skip(behind)
	return verdict{kind: isParts, end: behind, seen: b.looked, parts: []Part{call}, repairs: append(repairs, closed...)}
}

// broken reports a function that cannot be read up to a position.
func (b *functionBlock) broken(err *ParseError, upTo int) verdict {
	*b.refused = max(*b.refused, upTo)
	return verdict{kind: isBroken, end: b.after, seen: upTo, err: err}
}

// open reads the tag and what follows it. It returns false if more text is needed.
func (b *functionBlock) open(text string, final bool) bool {
	name, behind, empty, wait := functionName(text, b.after, final)
	switch {
	case wait:
		return false
	case b.start < *b.refused || b.tool(name) == nil || b.shown.At(text, b.start):
		b.kind, b.pos = functionNone, b.after
		return true
	case empty:
		b.kind, b.pos = functionEmpty, behind
		return true
	}
	b.pos = jsonscan.SkipBlanks(text, max(b.pos, behind))
	for _, mark := range []string{parameterMark, functionEnd} {
		switch yes, wait := textscan.StandsAt(text, b.pos, mark, final); {
		case yes:
			b.kind, b.values = functionParameters, valueScan{valueForm: functions.values(), pos: b.pos}
			return true
		case wait || b.pos == len(text) && !final:
			return false
		}
	}
	if next := text[b.pos:min(len(text), b.pos+mostBlanks)]; next != "" && next[0] == '{' {
		switch inner := textscan.TrimLeft(next[1:]); {
		case inner == "" && b.pos+len(next) == len(text) && !final:
			return false
		case inner == "" || inner[0] != '\\':
			b.kind = functionObject
			b.scan.Begin(b.pos)
			return true
		}
	}
	b.kind = functionNone
	return true
}

// findEnd searches for the end of the function. It returns false if more text is needed.
func (b *functionBlock) findEnd(text string, final bool) bool {
	switch b.kind {
	case functionEmpty:
		b.end = b.pos
		return true
	case functionObject:
		return b.endBehindObject(text, final)
	default:
		return b.endBehindParameters(text, final)
	}
}

// endBehindParameters searches for the closing tag that is in no parameter. In ModeRepair the
// first is the end if there is none: the closing tag of the last parameter is missing.
func (b *functionBlock) endBehindParameters(text string, final bool) bool {
	another := -1
	if b.limited {
		another = strings.Index(text[b.after:], functionMark)
	}
	for {
		at := b.ends.Next(text, b.pos)
		switch {
		case another >= 0 && (at < 0 || at > b.after+another):
			b.kind, b.pos = functionNone, b.after+another
			return true
		case at < 0 && final:
			b.end, b.cut, b.looked = len(text), true, len(text)
			if first := b.ends.Next(text, b.after); b.Mode == ModeRepair && first >= 0 && b.values.within(text) {
				b.end, b.cut = first+len(functionEnd), false
			}
			return true
		case at < 0:
			return false
		case !b.values.within(text[:at]):
			b.end = at + len(functionEnd)
			return true
		}
		b.pos = at + 1
	}
}

// endBehindObject searches for the end of an object and for the closing tag after it.
func (b *functionBlock) endBehindObject(text string, final bool) bool {
	if b.looked == 0 {
		stop, state := b.scan.Scan(text)
		switch {
		case state == jsonscan.Done:
		case state == jsonscan.More && !final:
			return false
		default: // it is broken, or cut off
			closing := b.ends.Next(text, stop) // one before is in a string
			if closing < 0 && !final && b.Mode != ModeText {
				return false
			}
			switch b.looked = stop; {
			case b.Mode == ModeText: // repairs cannot help
				b.end = stop
			case closing >= 0:
				b.end = closing + len(functionEnd)
			default:
				b.end, b.cut = len(text), true
			}
			return true
		}
		b.looked, b.pos = stop, stop
	}
	b.pos = jsonscan.SkipBlanks(text, b.pos)
	closed, wait := textscan.StandsAt(text, b.pos, functionEnd, final)
	if wait || b.pos == len(text) && !final {
		return false
	}
	b.end = b.pos
	switch {
	case closed:
		b.end += len(functionEnd)
	case strings.HasPrefix(functionEnd, text[b.pos:]):
		b.cut = true
		b.end = len(text)
	default:
		b.err = brokenFrom(text, b.pos, functionEnd)
	}
	return true
}

// behindMark returns the position after the end mark of calls, if it follows the function: some
// models leave out only the mark that begins calls.
func (b *functionBlock) behindMark(text string, final bool) (end int, wait bool) {
	const mark = "</tool_call>"
	at := b.end
	for at < len(text) && at < b.end+mostBlanks && textscan.IsBlank(text[at]) {
		at++
	}
	if b.cut || at == b.end+mostBlanks {
		return b.end, false
	}
	closed, wait := textscan.StandsAt(text, at, mark, final)
	switch {
	case closed:
		return at + len(mark), false
	case final && len(text)-at > 1 && strings.HasPrefix(mark, text[at:]): // cut off
		return len(text), false
	case wait || at == len(text) && !final:
		return 0, true
	default:
		return b.end, false
	}
}
