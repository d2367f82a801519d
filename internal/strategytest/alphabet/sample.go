package alphabet

import (
	"encoding/json"
)

// noArguments are the arguments of a call without arguments.
const noArguments = "{}"

// schema holds the keywords of a JSON Schema that a sample needs.
type schema struct {
	Type       any               `json:"type"`
	Const      json.RawMessage   `json:"const"`
	Enum       []json.RawMessage `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	MinItems   int               `json:"minItems"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
}

// sample returns the smallest JSON that fits a schema; an empty object if the schema cannot be
// read.
func sample(text json.RawMessage) string {
	var s schema
	if len(text) == 0 || json.Unmarshal(text, &s) != nil {
		return noArguments
	}
	value, err := json.Marshal(s.value(0))
	if err != nil {
		return noArguments
	}
	return string(value)
}

// mostDeep is the greatest depth of a sample: a schema may contain itself.
const mostDeep = 8

func (s *schema) value(depth int) any {
	switch {
	case depth > mostDeep:
		return nil
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].value(depth + 1)
	case len(s.OneOf) > 0:
		return s.OneOf[0].value(depth + 1)
	}
	kind := s.Type
	if several, ok := kind.([]any); ok && len(several) > 0 {
		kind = several[0]
	}
	switch kind {
	case "string":
		return "text"
	case "number", "integer":
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		items := []any{}
		for s.Items != nil && len(items) < s.MinItems {
			items = append(items, s.Items.value(depth+1))
		}
		return items
	}
	object := map[string]any{}
	for _, name := range s.Required {
		member := s.Properties[name]
		object[name] = member.value(depth + 1)
	}
	return object
}
