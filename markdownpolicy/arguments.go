package markdownpolicy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
)

// argument is a named argument of a call, written as plain text without a type.
type argument struct {
	name, text string
	json       string // the value, if its type is written; "" otherwise
}

// repeatedName returns the first name that two arguments share.
func repeatedName(arguments []argument) (name string, again bool) {
	seen := make(map[string]bool, len(arguments))
	for _, a := range arguments {
		if seen[a.name] {
			return a.name, true
		}
		seen[a.name] = true
	}
	return "", false
}

// argumentsObject writes arguments, which have different names, as a JSON object. Each gets the
// type that the schema of the tool gives it. unknown is for arguments of which the schema says
// nothing; those of its zero value are strings.
func argumentsObject(arguments []argument, schema map[string]property, unknown property) string {
	b := []byte("{")
	for _, a := range arguments {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(b, a.name), ':')
		if a.json != "" {
			b = append(b, a.json...)
			continue
		}
		p := schema[a.name]
		if p.isUnknown() {
			p = unknown
		}
		b = p.append(b, a.text)
	}
	return string(append(b, '}'))
}

// property is the part of an argument's schema that is used.
type property struct {
	Type  any               `json:"type"` // a string or an array of strings
	Enum  []json.RawMessage `json:"enum"`
	Ref   string            `json:"$ref"`
	AnyOf []property        `json:"anyOf"`
	OneOf []property        `json:"oneOf"`
	AllOf []property        `json:"allOf"`

	within *argumentSchema // has what Ref names
}

// anything is of any type.
var anything = property{Type: []any{"null", "boolean", "number", "array", "object", "string"}}

// isUnknown reports whether nothing is known of the type.
func (p property) isUnknown() bool {
	return p.Type == nil && p.Enum == nil && p.Ref == "" && p.AnyOf == nil && p.OneOf == nil && p.AllOf == nil
}

// properties returns the arguments of the tool with that name, or nil if nothing is known of them.
func (o Options) properties(name string) map[string]property { return o.schema(name).Properties }

// requires reports whether the tool with that name cannot be called without arguments, as far as is
// known.
func (o Options) requires(name string) bool { return len(o.schema(name).Required) > 0 }

// argumentSchema is the part of the schema of a tool's arguments that is used.
type argumentSchema struct {
	Properties  map[string]property `json:"properties"`
	Required    []string            `json:"required"`
	Defs        map[string]property `json:"$defs"`
	Definitions map[string]property `json:"definitions"`
}

// schema returns the schema of a tool's arguments; it is empty if nothing is known of them.
func (o Options) schema(name string) (schema argumentSchema) {
	tool := o.tool(name)
	if tool == nil || json.Unmarshal(tool.Parameters, &schema) != nil {
		return argumentSchema{}
	}
	for name, p := range schema.Properties {
		p.within = &schema
		schema.Properties[name] = p
	}
	return schema
}

// isDefinition reports whether the arguments of what looks like a call are the schema of a tool's
// arguments: then a tool is described, and not called.
func (o Options) isDefinition(name, arguments string) bool {
	if _, ok := o.properties(name)["properties"]; ok || arguments == "" || arguments[0] != '{' {
		return false
	}
	isObject, hasProperties := false, false
	for key, value := range jsonscan.Members(arguments) {
		isObject = isObject || key == "type" && value == `"object"`
		hasProperties = hasProperties || key == "properties" && value[0] == '{'
	}
	return isObject && hasProperties
}

// append writes a value as the first of these types that fits: null, a boolean, a number, an array
// or object, a string.
func (p property) append(dst []byte, text string) []byte {
	trimmed := strings.TrimSpace(text)
	if lower := strings.ToLower(trimmed); lower == "true" || lower == "false" || lower == "null" {
		trimmed = lower
	} else if lower == "none" && !p.allows("string") {
		trimmed = "null"
	}
	switch kind := kindOf(trimmed); {
	case kind == "string" || !p.allows(kind):
	case json.Valid([]byte(trimmed)):
		return append(dst, trimmed...)
	case (kind == "array" || kind == "object") && !p.allows("string"):
		if value, ok := otherJSON(trimmed); ok {
			return append(dst, value...)
		}
	}
	return jsonscan.AppendString(dst, text)
}

// otherJSON reads what models write in the place of a JSON array or object that cannot be a string:
// a literal of Python, or JSON with the escapes of a string.
func otherJSON(text string) (value string, ok bool) {
	if escaped := `"` + text + `"`; json.Valid([]byte(escaped)) {
		if value = jsonscan.Unquote(escaped); json.Valid([]byte(value)) {
			return value, true
		}
	}
	value, end, err := pyliteral.Read(text, 0)
	return value, err == nil && end == len(text)
}

// kindOf guesses the JSON type of a text that may be a value.
func kindOf(text string) string {
	switch {
	case text == "null":
		return "null"
	case text == "true" || text == "false":
		return "boolean"
	case text == "":
		return "string"
	case text[0] == '{':
		return "object"
	case text[0] == '[':
		return "array"
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return "number"
	default:
		return "string"
	}
}

// allows reports whether the schema includes the type.
func (p property) allows(kind string) bool { return p.within.allows(p, kind, map[string]bool{}) }

// allows reports whether a part of the schema includes the type. No reference is followed twice:
// followed are those that were.
func (s *argumentSchema) allows(p property, kind string, followed map[string]bool) bool {
	switch t := p.Type.(type) {
	case nil:
		if slices.ContainsFunc(p.Enum, func(value json.RawMessage) bool { return kindOf(string(value)) == kind }) {
			return true
		}
	case []any:
		if slices.ContainsFunc(t, func(t any) bool { return isKind(t, kind) }) {
			return true
		}
	default:
		if isKind(t, kind) {
			return true
		}
	}
	if p.Ref != "" && !followed[p.Ref] {
		followed[p.Ref] = true
		if s.allows(s.named(p.Ref), kind, followed) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(p.AnyOf, p.OneOf, p.AllOf), func(p property) bool { return s.allows(p, kind, followed) })
}

// named returns what a reference names; nothing is known of it if the schema does not have it.
func (s *argumentSchema) named(ref string) property {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok && s != nil {
		return s.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok && s != nil {
		return s.Definitions[name]
	}
	return property{}
}

// isKind reports whether a type of a schema is a type of JSON.
func isKind(t any, kind string) bool { return t == kind || t == "integer" && kind == "number" }

// unclosed returns the first argument whose text contains a parameter tag without its end,
// and the name in that tag. A tag of a parameter that the call already has does not count: it is
// text, because it cannot be another parameter.
func (f functionForm) unclosed(arguments []argument) (in argument, name string) {
	given := make(map[string]bool, len(arguments))
	for _, a := range arguments {
		given[a.name] = true
	}
	for _, a := range arguments {
		for _, name := range f.unclosedIn(a.text) {
			if name == a.name || !given[name] {
				return a, name
			}
		}
	}
	return argument{}, ""
}

// unclosedIn returns the names of the parameters that begin in a text and do not end in it.
func (f functionForm) unclosedIn(text string) (open []string) {
	for pos := 0; ; {
		i := strings.IndexByte(text[pos:], '<')
		if i < 0 {
			return open
		}
		pos += i
		if name, after, ok := f.parameterTag(text, pos); ok {
			open, pos = append(open, name), after
			continue
		}
		if strings.HasPrefix(text[pos:], f.parameter.close) && len(open) > 0 {
			open = open[:len(open)-1]
		}
		pos++
	}
}

// parameterTag reads a tag that seems to begin a parameter. It returns the name and the position
// after the tag. The forms are <parameter=name>, in any letter case, and <parameter name="name">.
func (f functionForm) parameterTag(text string, pos int) (name string, end int, ok bool) {
	const most = 256 // bytes of a tag
	mark := "<" + strings.TrimSuffix(f.parameter.close[len("</"):], ">")
	window := text[pos:min(len(text), pos+most)]
	if len(window) < len(mark) || !strings.EqualFold(window[:len(mark)], mark) {
		return "", pos, false
	}
	tag, _, closed := strings.Cut(window[len(mark):], ">")
	what, name, ok := strings.Cut(tag, "=")
	what = strings.TrimSpace(what)
	if !closed || !ok || what != "" && !strings.EqualFold(what, "name") || strings.ContainsAny(tag, "<\n") {
		return "", pos, false
	}
	return strings.Trim(name, ` "'`), pos + len(mark) + len(tag) + 1, true
}

// valueForm is a form of values between tags.
type valueForm struct {
	tagPair
	next  []string // one of these follows a value, unless it is the last
	shown tagPair  // the tags around a call that a value shows: what closes in it does not end the value
}

var (
	keyForm  = valueForm{tagPair: pairKey, next: []string{pairKey.open, pairValue.open}}
	pairForm = valueForm{pairValue, keyForm.next, pairValue}
)

// escapeForm is the form of values that the same mark begins and ends.
func escapeForm(mark string) valueForm {
	return valueForm{tagPair: tagPair{open: mark, close: mark}, next: []string{""}}
}

// valueScan finds the ends of values in a text that grows. It reads each byte once.
type valueScan struct {
	valueForm
	pos    int  // the text before it was read
	inside bool // a value
	shown  int  // how many calls the value shows that have not ended
}

// end returns the position of the tag that ends the value at the current position, or -1. A value
// ends at the first closing tag that one of the next tags, or the end of the text, follows.
func (s *valueScan) end(text string) int {
	for {
		i := strings.IndexByte(text[s.pos:], '<')
		if i < 0 {
			s.pos = len(text)
			return -1
		}
		at := s.pos + i
		tag := text[at:]
		s.pos = at + 1
		switch {
		case s.shows(tag):
			s.shown++
		case s.shown > 0 && strings.HasPrefix(tag, s.valueForm.shown.close):
			s.shown--
		case s.shown == 0 && strings.HasPrefix(tag, s.close) && s.isNext(tag[len(s.close):]):
			s.pos, s.inside = at+len(s.close), false
			return at
		}
	}
}

// shows reports whether a call that the value shows begins with a tag: a function only if its first
// parameter follows.
func (s *valueScan) shows(tag string) bool {
	const longest = 256
	open, parameter := s.valueForm.shown.open, s.open
	_, rest, _ := strings.Cut(tag[:min(len(tag), longest)], ">")
	return open != "" && strings.HasPrefix(tag, open) && (open == parameter || strings.HasPrefix(textscan.TrimLeft(rest), parameter))
}

// isNext reports whether the text after a closing tag may follow a value.
func (s *valueScan) isNext(after string) bool {
	after = textscan.TrimLeft(after)
	return slices.ContainsFunc(s.next, func(tag string) bool { return strings.HasPrefix(after, tag) || strings.HasPrefix(tag, after) })
}

// within reports whether a text ends within a value. Each text contains the one before, and ends at
// a mark.
func (s *valueScan) within(text string) bool {
	for {
		if !s.inside {
			i := strings.Index(text[s.pos:], s.open)
			if i < 0 {
				s.pos = len(text)
				return false
			}
			s.pos, s.inside = s.pos+i+len(s.open), true
		}
		if s.end(text) < 0 {
			return true
		}
	}
}

// valuesOf returns a function that reports whether a body of calls from pos on, as far as it is
// given, ends within a value: between tags or in a string. Its form is known by what it begins
// with, unless the format has a form of its own. Each text contains the one before, and ends at a
// mark.
func valuesOf(text string, pos int, own valueForm) (within func(text string) bool) {
	s := &valueScan{pos: pos, valueForm: own}
	body := text[pos:]
	head, _, pairs := strings.Cut(body, pairKey.open)
	switch _, end, _ := attribute(body, 0, functionMark); {
	case own.open != "":
	case end > 0 && !strings.HasPrefix(textscan.TrimLeft(body[end:]), "{"):
		s.valueForm = functions.values()
	case strings.HasPrefix(body, "call:"):
		s.valueForm = escapeForm(escapeMark)
	case pairs && !strings.ContainsAny(head, "<({"):
		s.valueForm = pairForm
	default:
		quoted := pyliteral.At(pos)
		return quoted.Within
	}
	return s.within
}

// closeParameter adds the closing tag of the last parameter of a function at an offset, if it is
// missing directly before the closing tag of the function, and nothing else can be meant: the value
// has neither of these tags, nor another function.
func closeParameter(body string, at int, mode Mode) (closed string, repairs []Repair) {
	held, ended := strings.CutSuffix(textscan.TrimRight(body), functionEnd)
	last := strings.LastIndex(held, parameterMark)
	if mode != ModeRepair || !ended || last < 0 || !strings.HasPrefix(body, functionMark) ||
		slices.ContainsFunc([]string{parameterEnd, functionEnd, functionMark}, func(tag string) bool { return strings.Contains(held[last:], tag) }) {
		return body, nil
	}
	return held + parameterEnd + functionEnd, []Repair{{Offset: at + len(held), What: "added the missing " + parameterEnd}}
}
