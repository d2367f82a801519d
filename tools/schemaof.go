package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaOf returns the JSON Schema of the JSON that is read into a T, for answers in JSON. T is a
// struct, or a pointer to one; it may not hold itself. Names, descriptions and lists of values come from struct tags, as [New] says.
//
// The schema has the form that OpenAI asks of a strict one, where that form can say what T is, and
// strict reports it: every field is required, a field with omitempty or omitzero may be null
// instead, and objects have no other fields. A T with a map, an interface, bytes, or a type that
// reads its own JSON cannot be said so; its schema is as for arguments.
//
// See https://platform.openai.com/docs/guides/structured-outputs.
func SchemaOf[T any]() (schema json.RawMessage, strict bool, err error) {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || decodesItself(t) != nil {
		return nil, false, fmt.Errorf("tools: an answer in JSON is an object: put the %v into a struct", t)
	}
	inferred, open, err := infer(t)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("tools: no schema for %v: %w", t, err)
	case len(inferred.Properties) == 0:
		return nil, false, fmt.Errorf("tools: no schema for %v: it has no field that JSON is read into", t)
	}
	strict = !open && canBeStrict(inferred)
	if strict {
		walk(inferred, requireAll)
	}
	schema, err = json.Marshal(inferred)
	return schema, strict, err
}

// canBeStrict reports whether the strict form can say what a schema says.
func canBeStrict(s *jsonschema.Schema) bool {
	can := true
	walk(s, func(s *jsonschema.Schema) {
		if s.Not != nil { // the schema false
			return
		}
		untyped := s.Type == "" && len(s.Types) == 0
		fields := !isObject(s) || len(s.Properties) > 0 // a map has none
		can = can && !untyped && fields && s.ContentEncoding == ""
	})
	return can
}

func isObject(s *jsonschema.Schema) bool {
	return s.Type == "object" || slices.Contains(s.Types, "object")
}

// requireAll makes every property of a schema required. One that was optional may be null.
func requireAll(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			allowNull(p)
		}
	}
	if isObject(s) {
		s.Required = slices.Clone(s.PropertyOrder)
	}
}

func allowNull(s *jsonschema.Schema) {
	if s.Type != "" {
		s.Type, s.Types = "", []string{"null", s.Type}
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
}
