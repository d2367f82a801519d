package markdownpolicy

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/tools"
)

// Schemer is a [Policy] for servers that hold a reply to a JSON Schema.
type Schemer interface {
	// ReplySchema returns the JSON Schema of replies that call one or several of the tools or,
	// unless a tool must be called, answer: with text or, if answer is not nil, with JSON of that
	// schema. Nil means that replies are not held to a schema.
	ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage
}

// replySchema returns the schema of any policy.
func replySchema(p Policy, defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	if s, ok := p.(Schemer); ok {
		return s.ReplySchema(defs, must, answer)
	}
	return nil
}

// ReplySchema implements [Schemer]. The root is an object, because OpenAI takes nothing else. A
// tool's schema with references stands under "$defs", and its references are adapted.
func (s Structured) ReplySchema(defs []tools.Definition, must bool, answer json.RawMessage) json.RawMessage {
	var branches, calls, shared []string
	for _, d := range defs {
		parameters := schemaWithin(d.Parameters, "t"+strconv.Itoa(len(shared)), &shared)
		name := `{"type":"string","enum":[` + jsonscan.Quote(d.Name) + `]}`
		calls = append(calls, objectSchema(structuredForm.name, name, structuredForm.arguments, parameters))
	}
	if len(calls) > 0 {
		shared = append(shared, `"call":{"anyOf":[`+strings.Join(calls, ",")+`]}`)
		branches = append(branches, `{"$ref":"#/$defs/call"}`, `{"type":"array","items":{"$ref":"#/$defs/call"},"minItems":1,"maxItems":8}`)
	}
	if !must || len(calls) == 0 {
		said := `{"type":["string","number","boolean"]}` // a model that must quote a number writes another word
		if answer != nil {
			said = schemaWithin(answer, "answer", &shared)
		}
		branches = append(branches, objectSchema("answer", said))
	}
	root := []string{"reply", `{"anyOf":[` + strings.Join(branches, ",") + `]}`}
	if s.Thoughts {
		root = append([]string{"thought", `{"type":"string"}`}, root...)
	}
	schema := objectSchema(root...)
	if len(shared) > 0 {
		schema = strings.TrimSuffix(schema, "}") + `,"$defs":{` + strings.Join(shared, ",") + "}}"
	}
	return json.RawMessage(schema)
}

// objectSchema returns the schema of an object with members, given as keys and their schemas.
func objectSchema(members ...string) string {
	var properties, required []string
	for i := 0; i < len(members); i += 2 {
		key := jsonscan.Quote(members[i])
		properties, required = append(properties, key+":"+members[i+1]), append(required, key)
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`
}

// schemaWithin returns a schema for use within another one. If it holds references, that is a
// reference to the schema itself, which is added to shared under a name.
func schemaWithin(schema json.RawMessage, name string, shared *[]string) string {
	text := compactSchema(schema)
	if !strings.Contains(text, `"$ref":"#`) || !jsonscan.Valid(text) {
		return text
	}
	*shared = append(*shared, jsonscan.Quote(name)+":"+string(moveReferences(nil, text, "#/$defs/"+name)))
	return `{"$ref":"#/$defs/` + name + `"}`
}

// moveReferences appends a schema whose references to its root are references to a place.
func moveReferences(dst []byte, value, place string) []byte {
	switch value[0] {
	case '{':
		dst = append(dst, '{')
		for key, member := range jsonscan.Members(value) {
			if rest, ok := strings.CutPrefix(member, `"#`); ok && key == "$ref" {
				member = `"` + place + rest
			}
			dst = append(jsonscan.AppendString(separated(dst, '{'), key), ':')
			dst = moveReferences(dst, member, place)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for _, element := range jsonscan.Elements(value) {
			dst = moveReferences(separated(dst, '['), element, place)
		}
		return append(dst, ']')
	default:
		return append(dst, value...)
	}
}

// separated appends a comma, unless the last byte is a bracket that was just opened.
func separated(dst []byte, opened byte) []byte {
	if dst[len(dst)-1] == opened {
		return dst
	}
	return append(dst, ',')
}
