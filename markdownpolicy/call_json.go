package markdownpolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// callForm describes how a call is written as a JSON object, such as {"name":…,"arguments":{…}}.
type callForm struct {
	name      string   // the key of the name
	arguments string   // the key of the arguments
	others    []string // more keys for the arguments, if that key is missing
	beside    []string // more keys that hold no arguments and are dropped
}

// read reads a call from JSON at an offset of the reply. Arguments are kept as written; a JSON
// string that holds an object is decoded once. Missing, null and empty arguments become {}. A
// member that does not belong to a call is an error, because it may be meant as an argument. A
// repeated key of a call is an error, too.
func (f callForm) read(text string, at int, mode Mode) (messages.ToolCall, []Repair, *ParseError) {
	object, repairs, err := readObject(text, at, mode)
	if err != nil {
		if err.Expected = f.expects(); err.Found == "" {
			err.Expected += ", with its end"
		}
		return messages.ToolCall{}, nil, err
	}
	return f.readValid(text, object, repairs, at, mode)
}

// readValid is read for text whose repair gave a valid object. With an error it still returns the
// name, if there is one.
func (f callForm) readValid(text, object string, repairs []Repair, at int, mode Mode) (messages.ToolCall, []Repair, *ParseError) {
	name, arguments, key, again := f.fields(object)
	if again != "" {
		return messages.ToolCall{}, nil, repeated(at, jsonscan.Quote(again), text)
	}
	call := messages.ToolCall{Name: jsonscan.Unquote(name)}
	if call.Name == "" {
		return messages.ToolCall{}, nil, broken(at, f.expects()+`, with "`+f.name+`" the name of a tool`, text, nil)
	}
	if err := f.checkKeys(object, call.Name, key, at); err != nil {
		return call, nil, err
	}
	fixed, more, err := readArguments(arguments, at+max(0, strings.Index(text, arguments)), mode)
	if err != nil {
		err.Expected = `"` + f.arguments + `" of "` + call.Name + `" to be a JSON object`
		return call, nil, err
	}
	call.Arguments = fixed
	return call, append(repairs, more...), nil
}

// expects describes the expected form in an error for the model.
func (f callForm) expects() string {
	return `a JSON object {"` + f.name + `": …, "` + f.arguments + `": {…}}`
}

// fields returns the raw values of the name and of the arguments of a valid object, and the key of
// the arguments ("" if there is none). again is the first of these keys that occurs twice, in any
// letter case.
func (f callForm) fields(object string) (name, arguments, under, again string) {
	rank := len(f.others) + 1 // of the key found for the arguments: the smallest wins
	var seen uint
	for key, value := range jsonscan.Members(object) {
		bit := f.bit(key)
		if seen&bit != 0 {
			return name, arguments, under, key
		}
		seen |= bit
		switch i := slices.Index(f.others, key); {
		case key == f.name:
			name = value
		case key == f.arguments:
			arguments, under, rank = value, key, -1
		case i >= 0 && i < rank:
			arguments, under, rank = value, key, i
		}
	}
	return name, arguments, under, ""
}

// bit returns a different bit for each key of a call, and 0 for other keys.
func (f callForm) bit(key string) uint {
	same := func(other string) bool { return strings.EqualFold(key, other) }
	switch {
	case same(f.name):
		return 1
	case same(f.arguments):
		return 2
	}
	if i := slices.IndexFunc(f.others, same); i >= 0 {
		return 4 << i
	}
	return 0
}

// isHarmless reports whether a member is one that servers add to a call and not an argument: the
// type of the call, its index, or its id.
func isHarmless(key, value string) bool {
	switch key {
	case "type":
		return saysNothing(value) || slices.Contains([]string{`"function"`, `"tool_call"`, `"tool_use"`}, value)
	case "index":
		return value == "null" || value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	case "id", "call_id", "tool_call_id":
		return value[0] != '{' && value[0] != '['
	default:
		return false
	}
}

// unexpectedKeys returns, in quotes, the keys of members that do not belong to a call whose
// arguments have the key under.
func (f callForm) unexpectedKeys(object, under string) (keys []string) {
	for key, value := range jsonscan.Members(object) {
		switch {
		case key == f.name, key == under, isHarmless(key, value), slices.Contains(f.beside, key):
		case (key == f.arguments || slices.Contains(f.others, key)) && (saysNothing(value) || isEmptyObject(value)):
		default:
			keys = append(keys, jsonscan.Quote(key))
		}
	}
	return keys
}

// checkKeys returns an error if a valid object has members that do not belong to a call.
func (f callForm) checkKeys(object, name, under string, at int) *ParseError {
	keys := f.unexpectedKeys(object, under)
	if len(keys) == 0 {
		return nil
	}
	expected := `the arguments of "` + name + `" as a JSON object under "` + f.arguments + `"`
	if _, arguments, _, _ := f.fields(object); saysNothing(arguments) {
		return broken(at, expected, "no arguments but "+strings.Join(keys, ", "), nil)
	}
	return broken(at, expected+", and nothing beside it", strings.Join(keys, ", ")+` beside "`+under+`"`, nil)
}

// isEmptyObject reports whether a valid JSON value is an empty object, or a string that holds one.
func isEmptyObject(value string) bool {
	if value[0] == '"' {
		value = textscan.Trim(jsonscan.Unquote(value))
	}
	return strings.HasPrefix(value, "{") && textscan.Trim(value[1:]) == "}"
}

// saysNothing reports whether the arguments of a call are missing, null, or a string that is blank
// or null.
func saysNothing(value string) bool {
	if strings.HasPrefix(value, `"`) {
		value = strings.TrimSpace(jsonscan.Unquote(value))
	}
	return value == "" || value == "null"
}

// readArguments reads the arguments of a call.
func readArguments(value string, at int, mode Mode) (string, []Repair, *ParseError) {
	switch {
	case saysNothing(value):
		return "{}", nil, nil
	case value[0] == '{':
		return value, nil, nil
	case value[0] != '"':
		return "", nil, broken(at, "a JSON object", value, nil)
	}
	object, repairs, err := readObject(strings.TrimSpace(jsonscan.Unquote(value)), 0, mode)
	if err != nil {
		return "", nil, broken(at, "a JSON object", value, err.Err)
	}
	for i := range repairs {
		repairs[i].Offset = at
	}
	return object, repairs, nil
}

// write writes a call as JSON on one line. Arguments that are not JSON are written as a JSON
// string.
func (f callForm) write(c messages.ToolCall) string {
	b := jsonscan.AppendString([]byte("{"), f.name)
	b = jsonscan.AppendString(append(b, ": "...), c.Name)
	b = jsonscan.AppendString(append(b, ", "...), f.arguments)
	b = append(b, ": "...)
	return string(append(appendArguments(b, c.Arguments), '}'))
}

// appendArguments writes arguments as JSON on one line.
func appendArguments(dst []byte, arguments string) []byte {
	switch trimmed := strings.TrimSpace(arguments); {
	case trimmed == "":
		return append(dst, "{}"...)
	case !json.Valid([]byte(trimmed)):
		return jsonscan.AppendString(dst, arguments)
	case strings.ContainsAny(trimmed, "\n\r"):
		var line bytes.Buffer
		_ = json.Compact(&line, []byte(trimmed)) // it is valid
		return append(dst, line.Bytes()...)
	default:
		return append(dst, trimmed...)
	}
}

// readObject reads a JSON object at an offset of the reply, and nothing else. Text that is not an
// object is an error, or is repaired in mode repair; a Python dict is repaired to an object, too.
func readObject(text string, at int, mode Mode) (object string, repairs []Repair, err *ParseError) {
	start := jsonscan.SkipBlanks(text, 0)
	object = textscan.TrimRight(text[start:])
	if object != "" && object[0] == '{' && jsonscan.Valid(object) {
		return object, nil, nil
	}
	if mode == ModeRepair {
		fixed, changes, ok := jsonrepair.Repair(text)
		if ok && fixed[0] == '{' {
			return fixed, repairsAt(at, changes), nil
		}
	}
	return "", nil, notObject(text, at, mode)
}

// repairsAt converts changes of a text at an offset of the reply to repairs of the reply.
func repairsAt(at int, changes []jsonrepair.Change) []Repair {
	var repairs []Repair
	for _, c := range changes {
		repairs = append(repairs, Repair{Offset: at + c.Offset, What: c.What})
	}
	return repairs
}

var errDeep = errors.New("its brackets are nested too deeply")

var errAmbiguous = errors.New("it can be repaired in more than one way")

// notObject says where a text stops being a JSON object.
func notObject(text string, at int, mode Mode) *ParseError {
	e := broken(at, "a JSON object", text, nil)
	if jsonscan.Deep(text) {
		e.Err = errDeep
		return e
	}
	var raw json.RawMessage
	cause := json.Unmarshal([]byte(text), &raw)
	e.Err = cause
	if syntax, ok := errors.AsType[*json.SyntaxError](cause); ok {
		stop := min(max(0, int(syntax.Offset)-1), len(text))
		if strings.Contains(syntax.Error(), "end of JSON") {
			stop = len(text)
		}
		e.Offset, e.Found = at+stop, shorten(text[stop:])
	}
	if mode == ModeRepair {
		e.Err = errors.Join(cause, errAmbiguous)
	}
	return e
}

// FindObject finds a JSON object in a reply that also holds other text, such as fences and prose.
// Of several objects it returns the last that has one of the keys, or the last of all if no keys
// are given. Only whole objects count: an object within another is part of it, and invalid JSON is
// not an object. The object is returned as written.
func FindObject(text string, keys ...string) (object string, ok bool) {
	return jsonscan.FindObject(text, func(object string) bool {
		if len(keys) == 0 {
			return true
		}
		for key := range jsonscan.Members(object) {
			if slices.Contains(keys, key) {
				return true
			}
		}
		return false
	})
}

// callValues returns the value, or the elements if it is an array, with their offsets.
func callValues(text string, at int, mode Mode) (iter.Seq2[int, string], []Repair, *ParseError) {
	if text[0] != '[' {
		return func(yield func(int, string) bool) { yield(0, text) }, nil, nil
	}
	if jsonscan.Valid(text) {
		return jsonscan.Elements(text), nil, nil
	}
	fixed, changes, ok := jsonrepair.Repair(text)
	if mode != ModeRepair || !ok || fixed == "" || fixed[0] != '[' {
		return nil, nil, broken(at, "", text, nil)
	}
	whole := func(yield func(int, string) bool) { // the offsets in repaired text are not those of the original text
		for _, value := range jsonscan.Elements(fixed) {
			if !yield(0, value) {
				return
			}
		}
	}
	return whole, repairsAt(at, changes), nil
}

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
