package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaOf returns the JSON Schema of the JSON that is read into a T, for answers in JSON. T is a
// struct. Names, descriptions and lists of values come from struct tags, as [New] says.
//
// The schema has the form that OpenAI asks of a strict one, where that form can say what T is, and
// strict reports it: every field is required, a field with omitempty or omitzero may be null
// instead, and objects have no other fields. A T with a map, an interface, bytes, or a type that
// reads its own JSON cannot be said so; its schema is as for arguments.
//
// See https://platform.openai.com/docs/guides/structured-outputs.
func SchemaOf[T any]() (schema json.RawMessage, strict bool, err error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
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
		untyped := s.Type == "" && len(s.Types) == 0 && s.Not == nil
		isMap := isObject(s) && s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil
		can = can && !untyped && !isMap && s.ContentEncoding == ""
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

// enumerate writes the values that `enum:"a,b"` tags list into the schema of a type.
func enumerate(t reflect.Type, s *jsonschema.Schema) error {
	switch t.Kind() {
	case reflect.Pointer:
		return enumerate(t.Elem(), s)
	case reflect.Slice, reflect.Array:
		return orNil(s.Items, func() error { return enumerate(t.Elem(), s.Items) })
	case reflect.Map:
		return orNil(s.AdditionalProperties, func() error { return enumerate(t.Elem(), s.AdditionalProperties) })
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				name = field.Name
			}
			p := s.Properties[name]
			if p == nil || field.Anonymous {
				continue
			}
			if err := enumerate(field.Type, p); err != nil {
				return err
			}
			if values, ok := field.Tag.Lookup("enum"); ok {
				if err := setEnum(p, values); err != nil {
					return fmt.Errorf("the tag enum of field %s: %w", field.Name, err)
				}
			}
		}
	default:
	}
	return nil
}

func orNil(s *jsonschema.Schema, then func() error) error {
	if s == nil {
		return nil
	}
	return then()
}

// setEnum allows a string, or each string of a list, the listed values alone.
func setEnum(s *jsonschema.Schema, values string) error {
	if s.Items != nil {
		s = s.Items
	}
	nullable := slices.Equal(s.Types, []string{"null", "string"})
	if s.Type != "string" && !nullable {
		return fmt.Errorf("only strings have one")
	}
	for v := range strings.SplitSeq(values, ",") {
		if v == "" || slices.Contains(s.Enum, any(v)) {
			return fmt.Errorf("%q holds an empty value or one twice", values)
		}
		s.Enum = append(s.Enum, v)
	}
	if nullable {
		s.Enum = append(s.Enum, nil)
	}
	return nil
}
