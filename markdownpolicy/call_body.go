package markdownpolicy

import (
	"encoding/json"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// This file reads calls that models write between marks in forms other than JSON. Each reader
// receives the text between the marks and its offset.

// readBody chooses the reader for the form.
func (o Options) readBody(text string, at int) ([]Part, []Repair, *ParseError) {
	lead := len(text) - len(textscan.TrimLeft(text))
	body, at := textscan.Trim(text), at+lead
	head, _, _ := strings.Cut(body, "{")
	switch {
	case strings.HasPrefix(body, functionMark):
		return o.readFunctions(functions, body, at)
	case strings.HasPrefix(body, "```"):
		return o.readCodeBlock(body, at)
	case head != body && o.tool(textscan.Trim(head)) != nil:
		return readSeparated(head, body[len(head):], at, at+len(head), o.Mode)
	case strings.HasPrefix(body, "call:"):
		return readEscaped(escapeMark, body, at)
	case strings.Contains(body, "<arg_key>") || o.tool(body) != nil:
		return o.readPairs(body, at, property{})
	}
	for _, separator := range deepSeekSeparators {
		if before, after, found := strings.Cut(body, separator); found {
			return readSeparated(before, after, at, at+len(body)-len(after), o.Mode)
		}
	}
	return readPython("", body, at, o.Mode)
}

// readCodeBlock reads a call as an object in a code block.
func (o Options) readCodeBlock(body string, at int) ([]Part, []Repair, *ParseError) {
	info, block, _ := strings.Cut(body[len("```"):], "\n")
	held, tail, closed := cutFence(block)
	object := textscan.Trim(held)
	if info = textscan.Trim(info); info != "" && info != "json" || !closed || textscan.Trim(tail) != "" || !strings.HasPrefix(object, "{") {
		return nil, nil, broken(at, "a call, or a ```json block with one", body, nil)
	}
	at += strings.Index(body, object)
	call, repairs, err := o.readJSON(object, at)
	if err != nil {
		return nil, nil, err
	}
	return []Part{{Content: call, Start: at}}, repairs, nil
}

// readJSON reads a call as JSON. The forms are {"name":…,"arguments":{…}}, the same as the
// "function" of an object, and an object whose only key is the name of a tool.
func (o Options) readJSON(text string, at int) (messages.ToolCall, []Repair, *ParseError) {
	call, repairs, err := hermesForm.read(text, at, o.Mode)
	if err == nil || !jsonscan.Valid(text) || text[0] != '{' {
		return call, repairs, err
	}
	return o.readOtherJSON(text, at, err)
}

// readElement is readJSON for text that is known to be valid JSON.
func (o Options) readElement(text string, at int) (messages.ToolCall, []Repair, *ParseError) {
	if text[0] != '{' {
		return o.readJSON(text, at) // which describes the error
	}
	call, repairs, err := hermesForm.readValid(text, text, nil, at, o.Mode)
	if err == nil {
		return call, repairs, nil
	}
	return o.readOtherJSON(text, at, err)
}

// readOtherJSON reads the forms of readJSON other than the Hermes form. err is the error of the
// Hermes form.
func (o Options) readOtherJSON(text string, at int, err *ParseError) (call messages.ToolCall, repairs []Repair, _ *ParseError) {
	n, functions, function := 0, 0, ""
	for key, value := range jsonscan.Members(text) {
		n++
		if key == "function" {
			functions, function = functions+1, value
		}
		if o.tool(key) != nil && n == 1 {
			call.Name, call.Arguments = key, value
		}
	}
	_, _, _, again := hermesForm.fields(text)
	switch {
	case again != "":
		return call, repairs, err
	case functions > 1:
		return call, repairs, repeated(at, `"function"`, text)
	case functions == 1 && function[0] == '{':
		if keys := (callForm{name: "function", arguments: "function"}).unexpectedKeys(text, "function"); len(keys) > 0 {
			return call, repairs, broken(at, `name and arguments in "function", and nothing beside it`, strings.Join(keys, ", "), nil)
		}
		return hermesForm.read(function, at+strings.Index(text, function), o.Mode)
	}
	if n != 1 || call.Name == "" {
		return call, repairs, err
	}
	call.Arguments, repairs, err = readArguments(call.Arguments, at, o.Mode)
	return call, repairs, err
}

// trimLines removes what models write around a value: blanks around a single line, or else one line
// break at either end.
func trimLines(value string) string {
	if trimmed := textscan.Trim(value); strings.IndexByte(trimmed, '\n') < 0 {
		return trimmed
	}
	if first, rest, _ := strings.Cut(value, "\n"); textscan.Trim(first) == "" {
		value = rest
	}
	if i := strings.LastIndexByte(value, '\n'); textscan.Trim(value[i+1:]) == "" {
		value = strings.TrimSuffix(value[:i], "\r")
	}
	return value
}

// readPairs reads name<arg_key>key</arg_key><arg_value>value</arg_value>…, where each key belongs
// to the value after it. A text ends as [valueScan] says.
// Tags in a key, and tags in a value that are not whole pairs, mean that an end is missing: this is
// an error. A repeated key is an error, too. unknown is for values without a type in the schema.
func (o Options) readPairs(body string, at int, unknown property) ([]Part, []Repair, *ParseError) {
	name, arguments, err := argumentPairs(body, at)
	if err != nil {
		return nil, nil, err
	}
	return []Part{callAt(at, name, argumentsObject(arguments, o.properties(name), unknown))}, nil, nil
}

// argumentPairs reads the name and the pairs.
func argumentPairs(body string, at int) (name string, arguments []argument, _ *ParseError) {
	name, _, _ = strings.Cut(body, "<arg_")
	pos := len(name)
	if name = textscan.Trim(name); name == "" || strings.ContainsAny(name, "\n<>") {
		return "", nil, broken(at, "the name of a tool before <arg_key>", body, nil)
	}
	var keys, values []string
	for pos < len(body) {
		if held, end, ok := between(body, pos, keyForm); ok {
			keys, pos = append(keys, textscan.Trim(held)), end
		} else if held, end, ok := between(body, pos, pairForm); ok {
			values, pos = append(values, held), end
		} else {
			return "", nil, broken(at+pos, "<arg_key>…</arg_key> or <arg_value>…</arg_value>", body[pos:], nil)
		}
	}
	if len(keys) != len(values) {
		return "", nil, broken(at, "an <arg_value>…</arg_value> for each <arg_key>…</arg_key>", body, nil)
	}
	arguments = make([]argument, len(keys))
	for i := range keys {
		if strings.Contains(keys[i], "arg_key>") || strings.Contains(keys[i], "arg_value>") {
			return "", nil, broken(at, "</arg_key> behind the key", keys[i], nil)
		}
		if !wholePairs(values[i]) {
			return "", nil, broken(at, "</arg_value> behind the value of <arg_key>"+keys[i]+"</arg_key>", values[i], nil)
		}
		arguments[i] = argument{name: keys[i], text: values[i]}
	}
	if key, again := repeatedName(arguments); again {
		return "", nil, repeated(at, "<arg_key>"+key+"</arg_key>", body)
	}
	return name, arguments, nil
}

var (
	pairKey   = tagPair{open: "<arg_key>", close: "</arg_key>"}
	pairValue = tagPair{open: "<arg_value>", close: "</arg_value>"}
)

// wholePairs reports whether every tag of a pair that begins in a text ends in it, and every key
// has a value.
func wholePairs(text string) bool {
	keys, values := strings.Count(text, pairKey.open), strings.Count(text, pairValue.open)
	return keys == values && strings.Count(text, pairKey.close) >= keys && strings.Count(text, pairValue.close) >= values
}

// between returns a value whose opening tag is at pos, and the position after it and blanks.
func between(body string, pos int, form valueForm) (held string, end int, ok bool) {
	if !strings.HasPrefix(body[pos:], form.open) {
		return "", pos, false
	}
	scan := valueScan{valueForm: form, pos: pos + len(form.open), inside: true}
	at := scan.end(body)
	if at < 0 {
		return "", pos, false
	}
	return body[pos+len(form.open) : at], jsonscan.SkipBlanks(body, scan.pos), true
}

// readSeparated reads the text before and after a separator: name and {…}, or "function" and the
// name with a block of JSON after it.
func readSeparated(before, after string, at, afterAt int, mode Mode) ([]Part, []Repair, *ParseError) {
	name, object := textscan.Trim(before), after
	if name == "function" {
		head, block, ok := strings.Cut(after, "```json")
		held, tail, closed := cutFence(block)
		if !ok || !closed || textscan.Trim(tail) != "" {
			return nil, nil, broken(afterAt, "the name of a tool and a ```json block with the arguments", after, nil)
		}
		name, object, afterAt = textscan.Trim(head), held, afterAt+len(head)+len("```json")
	}
	if name == "" || strings.ContainsAny(name, "\n`") {
		return nil, nil, broken(at, "the name of a tool", before, nil)
	}
	arguments, repairs, err := readObject(object, afterAt, mode)
	if err != nil {
		return nil, nil, err
	}
	return []Part{callAt(at, name, arguments)}, repairs, nil
}

// cutFence returns the text before and after the fence that ends a block. It is on a line of its
// own, or after the object on its line.
func cutFence(block string) (held, tail string, closed bool) {
	if start := jsonscan.SkipBlanks(block, 0); start < len(block) && block[start] == '{' {
		scan := jsonscan.At(start)
		if end, ok := scan.End(block); ok {
			if rest, ok := strings.CutPrefix(strings.TrimLeft(block[end:], " \t"), "```"); ok {
				return block[:end], rest, true
			}
		}
	}
	return strings.Cut(block, "\n```")
}

// escapeMark surrounds the strings of readEscaped.
const escapeMark = "<escape>"

// readEscaped reads call:name{key:<escape>text<escape>,other:1}, with a mark around strings.
func readEscaped(mark, body string, at int) ([]Part, []Repair, *ParseError) {
	name, _, ok := strings.Cut(strings.TrimPrefix(body, "call:"), "{")
	if called := textscan.Trim(name); ok && called != "" && strings.IndexByte(called, '\n') < 0 {
		rest := body[len("call:")+len(name):]
		if object := escapedJSON(mark, rest); json.Valid(object) {
			if jsonrepair.RepeatsName(string(object)) {
				return nil, nil, repeated(at, "each key", body)
			}
			return []Part{callAt(at, called, string(object))}, nil, nil
		}
	}
	return nil, nil, broken(at, "call:name{key:"+mark+"text"+mark+"}", body, nil)
}

// escapedJSON writes the arguments of readEscaped as JSON. Invalid input stays invalid.
func escapedJSON(mark, text string) []byte {
	var b []byte
	for text != "" {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			held, after, closed := strings.Cut(rest, mark)
			if !closed {
				return nil
			}
			b, text = jsonscan.AppendString(b, held), after
			continue
		}
		i := strings.IndexAny(text, ":,{}[]<")
		switch {
		case i == 0 && text[0] != '<':
			b, text = append(b, text[0]), text[1:]
		case i <= 0:
			return nil
		case text[i] == ':':
			b, text = jsonscan.AppendString(b, textscan.Trim(text[:i])), text[i:]
		default:
			b, text = append(b, text[:i]...), text[i:]
		}
	}
	return b
}

// readPython reads Python calls: name(key=value, …), each on its own line or all in a list.
// A call may be the argument of the function around, unless that is "".
func readPython(around, body string, at int, mode Mode) ([]Part, []Repair, *ParseError) {
	calls, changes, err := pyliteral.ReadCalls(around, body, mode == ModeRepair)
	if err != nil {
		return nil, nil, broken(at+err.Offset, err.Expected, body[err.Offset:], nil)
	}
	return pythonParts(calls, at), repairsAt(at, changes), nil
}

// pythonParts converts calls of a text at an offset of the reply to parts of the reply.
func pythonParts(calls []pyliteral.Call, at int) []Part {
	var parts []Part
	for _, c := range calls {
		part := callAt(at+c.Start, c.Name, c.Arguments)
		part.End = at + c.End
		parts = append(parts, part)
	}
	return parts
}
