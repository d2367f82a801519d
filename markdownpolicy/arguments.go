package markdownpolicy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
)

// argument is a named argument of a call that is written as plain text, without saying of which
// type it is.
type argument struct{ name, text string }

// repeatedName returns the first name that two arguments have.
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

// argumentsObject writes arguments, each of another name, as a JSON object, each of the type that
// the schema of the tool has for it; without one it is a string.
func argumentsObject(arguments []argument, schema map[string]property) string {
	b := []byte("{")
	for _, a := range arguments {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(b, a.name), ':')
		b = schema[a.name].append(b, a.text)
	}
	return string(append(b, '}'))
}

// property is what is read of the schema of an argument.
type property struct {
	Type  any        `json:"type"` // a string or an array of strings
	AnyOf []property `json:"anyOf"`
}

// properties returns the arguments of the tool of that name, nil if nothing is known of them.
func (o Options) properties(name string) map[string]property {
	tool := o.tool(name)
	if tool == nil {
		return nil
	}
	var schema struct {
		Properties map[string]property `json:"properties"`
	}
	if json.Unmarshal(tool.Parameters, &schema) != nil {
		return nil
	}
	return schema.Properties
}

// append writes a value as the first type that it can be: null, a boolean, a number, an array or
// object, or else a string.
func (p property) append(dst []byte, text string) []byte {
	trimmed := strings.TrimSpace(text)
	if lower := strings.ToLower(trimmed); lower == "true" || lower == "false" || lower == "null" {
		trimmed = lower
	}
	if kind := kindOf(trimmed); kind != "string" && p.allows(kind) && json.Valid([]byte(trimmed)) {
		return append(dst, trimmed...)
	}
	return jsonscan.AppendString(dst, text)
}

// kindOf guesses the JSON type of what may be a value.
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

// allows reports whether the schema names the type.
func (p property) allows(kind string) bool {
	switch t := p.Type.(type) {
	case string:
		if t == kind || t == "integer" && kind == "number" {
			return true
		}
	case []any:
		if slices.ContainsFunc(t, func(t any) bool { return property{Type: t}.allows(kind) }) {
			return true
		}
	}
	return slices.ContainsFunc(p.AnyOf, func(p property) bool { return p.allows(kind) })
}

// unclosedParameter returns the first argument whose text holds the tag of a parameter without its
// end, and the name of that. A tag of a parameter that stands elsewhere in the call is text: it
// cannot be another one.
func unclosedParameter(arguments []argument) (in argument, name string) {
	given := make(map[string]bool, len(arguments))
	for _, a := range arguments {
		given[a.name] = true
	}
	for _, a := range arguments {
		for _, name := range unclosedParameters(a.text) {
			if name == a.name || !given[name] {
				return a, name
			}
		}
	}
	return argument{}, ""
}

// unclosedParameters returns the names of the parameters that begin in a text and do not end there.
func unclosedParameters(text string) (open []string) {
	const end = "</parameter>"
	for pos := 0; ; {
		i := strings.IndexByte(text[pos:], '<')
		if i < 0 {
			return open
		}
		pos += i
		if name, after, ok := parameterTag(text, pos); ok {
			open, pos = append(open, name), after
			continue
		}
		if strings.HasPrefix(text[pos:], end) && len(open) > 0 {
			open = open[:len(open)-1]
		}
		pos++
	}
}

// parameterTag reads a tag that seems to begin a parameter, and returns the name and the place
// behind the tag: <parameter=name>, in whatever case, and <parameter name="name">.
func parameterTag(text string, pos int) (name string, end int, ok bool) {
	const mark, most = "<parameter", 256 // bytes of a tag
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
