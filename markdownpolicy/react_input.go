package markdownpolicy

import (
	"encoding/json"
	"strings"
)

// arguments makes JSON of the input of an action. end is the place behind what was used of it, in
// the reply; open says that the input does not say by itself that it ends there.
func (p ReAct) arguments(a action) (args string, end int, open bool, repairs []Repair, err *ParseError) {
	value := trimBlanksLeft(a.input)
	at := a.at + len(a.input) - len(value)
	value = trimBlanksRight(value)
	end = at + len(value)
	tool := p.tool(a.name)
	switch {
	case (value == "" || value == "null") && tool != nil && len(parametersOf(tool).Required) > 0:
		return "", end, true, nil, p.inputError(a, at, value)
	case value == "" || value == "null":
		return "{}", end, true, nil, nil
	case !a.exact && isObjectLike(value):
		args, used, ended, repairs, err := readInputObject(value, at, p.Mode)
		if err == nil {
			err = inputGoesOn(value, used, at)
		}
		return args, at + used, !ended, repairs, err
	}
	var text string
	if !a.exact && value[0] == '"' && json.Unmarshal([]byte(value), &text) == nil {
		if isObject(text) {
			return trimBlanks(text), end, false, nil, nil
		}
		value = text
	}
	args, ok := p.wrap(a.name, value)
	if !ok {
		return "", end, true, nil, p.inputError(a, at, value)
	}
	return args, end, true, nil, nil
}

func (p ReAct) inputError(a action, at int, value string) *ParseError {
	return broken(at, `an "Action Input:" line with a JSON object, the arguments of `+a.name, value, nil)
}

// wrap makes arguments of an input that is no object: of a tool with one parameter, it is that
// parameter. Where the tool is not known, it is a JSON string, so that no name is made up.
func (p ReAct) wrap(tool, value string) (string, bool) {
	def := p.tool(tool)
	if def == nil {
		return string(appendString(nil, value)), true
	}
	name, kind, ok := parametersOf(def).only()
	if !ok {
		return "", false
	}
	switch kind {
	case "string", "":
		value = string(appendString(nil, value))
	default:
		if !json.Valid([]byte(value)) || jsonType(value) != kind && (kind != "number" || jsonType(value) != "integer") {
			return "", false
		}
	}
	return "{" + string(appendString(nil, name)) + ":" + value + "}", true
}

// jsonType returns the JSON Schema type of a JSON value.
func jsonType(value string) string {
	switch value[0] {
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(value, ".eE") {
		return "number"
	}
	return "integer"
}

// isObjectLike reports whether text is meant as a JSON object, in a code block or not.
func isObjectLike(text string) bool {
	body, _ := fenced(text)
	body = trimBlanksLeft(body)
	if !strings.HasPrefix(body, "{") {
		return false
	}
	body = trimBlanksLeft(body[1:])
	return body == "" || strings.IndexByte(`"'}`, body[0]) >= 0
}

func isObject(text string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

// fenced returns what stands in the code block that the text begins with, and where that is;
// without a block, all of it.
func fenced(text string) (body string, at int) {
	at = len(text) - len(trimBlanksLeft(text))
	if !readMark(text[at:], true).fence {
		return text[at:], at
	}
	at += runOf(text, at, text[at:at+1], len(text)) - at
	at = runOf(text, at, " \t", len(text))
	for at < len(text) && (text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z' || text[at] >= '0' && text[at] <= '9') {
		at++
	}
	return text[at:], at
}

// readInputObject reads the object that value begins with, in a code block or not; what follows is
// no part of it. used is the length of what was read, ended says that the object ends by itself. It
// is read as readDict does.
func readInputObject(value string, at int, mode Mode) (object string, used int, ended bool, repairs []Repair, err *ParseError) {
	body, skipped := fenced(value)
	inBlock := skipped > 0
	skipped += len(body) - len(trimBlanksLeft(body))
	body = value[skipped:]
	used = len(value)
	if end := objectEnd(body); end > 0 {
		body, used, ended = body[:end], skipped+end, true
	}
	if rest := trimBlanksLeft(value[used:]); inBlock && readMark(rest, true).fence {
		used = len(value) - len(rest) + runOf(rest, 0, rest[:1], len(rest))
	}
	object, repairs, err = readDict(body, at+skipped, mode)
	return object, used, ended, repairs, err
}

// inputGoesOn returns an error if behind the object that an input begins with, there is not only
// what a model says of it: the object seems to go on, or another one or another input stands there.
func inputGoesOn(value string, used, at int) *ParseError {
	goes, _ := jsonGoesOn(value, used, true)
	rest := strings.TrimLeft(value[used:], blanks+"]}")
	next := strings.TrimLeft(strings.TrimPrefix(rest, ","), blanks)
	member, keyword := header{text: next}, pyHeader{text: next}
	_, key := member.key()
	switch {
	case goes, key, isObjectLike(next), next != rest && next != "" && strings.IndexByte(`"'`, next[0]) >= 0:
	case next != rest && keyword.name() != "" && keyword.skip("="):
	case readMark(rest, true).key == keyInput:
	default:
		return nil
	}
	return broken(at+used, "one JSON object with all arguments, and nothing behind it", rest, nil)
}

// readDict reads an object as readObject does, and in every mode also a dict of Python, with its
// quotes, constants and a comma behind the last member. The format does not say that an input is
// JSON, so that is no repair, but it is listed as one. Of a text that is nearly JSON, it must also
// be what a repair makes of it: the two languages do not have the same escapes.
func readDict(text string, at int, mode Mode) (object string, repairs []Repair, err *ParseError) {
	object, repairs, err = readObject(text, at, mode)
	if err == nil || mode == ModeRepair {
		return object, repairs, err
	}
	dict, end, notPython := pyLiteral(text, 0)
	if notPython != nil || end < len(text) {
		return "", nil, err
	}
	fixed, repairs, unclear := readObject(text, at, ModeRepair)
	if unclear != nil || fixed != dict {
		return "", nil, err
	}
	return fixed, repairs, nil
}

// objectEnd returns the place behind the object or dict that text begins with, or 0 if it does not
// end.
func objectEnd(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			i = quoteEnd(text, i)
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// quoteEnd returns the place of the quote that ends the string which begins at i; len(text) if
// there is none.
func quoteEnd(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return len(text)
}
