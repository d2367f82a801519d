package tools

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/segue-go/segue/tools/internal/typeschema"
)

// SchemaOf returns the JSON Schema of the JSON that is decoded into a T, for answers in JSON. T is
// a struct or a pointer to one, and must not contain itself. Names, descriptions and lists of
// values come from struct tags, as for [New].
//
// If the strict form that OpenAI requires can express T, the schema has that form and strict is
// true: every field is required, a field with omitempty or omitzero may be null instead, and
// objects have no other fields. The strict form cannot express a T with a map, an interface, bytes,
// or a type that decodes its own JSON; its schema is then as for arguments.
//
// See https://platform.openai.com/docs/guides/structured-outputs.
func SchemaOf[T any]() (schema json.RawMessage, strict bool, err error) {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !typeschema.IsStruct(t) {
		return nil, false, fmt.Errorf("tools: an answer in JSON is an object: put the %v into a struct", t)
	}
	inferred, open, err := typeschema.Infer(t)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("tools: no schema for %v: %w", t, err)
	case len(inferred.Properties) == 0:
		return nil, false, fmt.Errorf("tools: no schema for %v: it has no field that JSON is read into", t)
	}
	strict = typeschema.MakeStrict(inferred, open)
	schema, err = json.Marshal(inferred)
	return schema, strict, err
}
