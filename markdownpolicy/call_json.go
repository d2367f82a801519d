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
