// Package typeschema infers JSON Schemas from Go types, for JSON that encoding/json decodes into
// them.
package typeschema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// anyJSON is the schema of a type that accepts any JSON. It lists the types so that a pointer to it
// does not become the type null; Infer removes the list.
var anyJSON = jsonschema.Schema{Types: []string{"null", "boolean", "object", "array", "number", "string"}}

// Infer returns the schema of a type that arguments are decoded into. Open reports whether the type
// contains an interface, into which encoding/json would decode a number inexactly. The JSON of some
// types differs from their Go kind:
//
//   - bytes are a string in base64, and a type that decodes itself from text is a string;
//   - a type that decodes itself from JSON, such as json.RawMessage, accepts any JSON; time.Time is
//     a string;
//   - a slice is a list and never null; a pointer may be null.
func Infer(t reflect.Type) (schema *jsonschema.Schema, open bool, err error) {
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.Number](): {Type: "number"},
		reflect.TypeFor[time.Time]():   {Type: "string", Format: "date-time"},
	}
	open = survey(t, special, map[reflect.Type]bool{})
	if inner := holdsItself(t, special, nil); inner != nil {
		return nil, false, fmt.Errorf("it holds a %v within itself, which no schema here can say: give the inner one the type json.RawMessage", inner)
	}
	if schema, err = jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special}); err != nil {
		return nil, false, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("ForType(%v): ", t)))
	}
	if err = completeFields(t, schema); err != nil {
		return nil, false, err
	}
	Walk(schema, func(s *jsonschema.Schema) {
		switch {
		case len(s.Types) == len(anyJSON.Types), reflect.ValueOf(*s).IsZero():
			s.Types, s.Description = nil, cmp.Or(s.Description, "any JSON") // instead of the schema true, which servers refuse
		case slices.Equal(s.Types, []string{"null", "array"}):
			s.Type, s.Types = "array", nil
		case slices.Equal(s.Types, nullOrList):
			s.Types = []string{"null", "array"}
		}
	})
	return schema, open, nil
}

// survey searches a type for types that decode themselves, which it adds to special, and for
// interfaces.
func survey(t reflect.Type, special map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) (open bool) {
	if seen[t] || special[t] != nil {
		return false
	}
	seen[t] = true
	if s := decodesItself(t); s != nil {
		special[t] = s
		return false
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return survey(t.Elem(), special, seen)
	case reflect.Struct:
		for field := range t.Fields() {
			if field.Tag.Get("json") == "-" || !field.IsExported() && !field.Anonymous {
				continue
			}
			if survey(field.Type, special, seen) {
				open = true
			}
		}
		return open
	default:
		return false
	}
}

// holdsItself returns a type, t or one that t holds, that holds itself; nil if there is none.
func holdsItself(t reflect.Type, special map[reflect.Type]*jsonschema.Schema, around []reflect.Type) reflect.Type {
	switch {
	case special[t] != nil:
		return nil
	case t.Name() != "" && slices.Contains(around, t):
		return t
	}
	around = append(around, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsItself(t.Elem(), special, around)
	case reflect.Struct:
		for field := range t.Fields() {
			if name, _ := jsonName(field); name == "" && !field.Anonymous {
				continue
			}
			if inner := holdsItself(field.Type, special, around); inner != nil {
				return inner
			}
		}
	default: // it holds nothing
	}
	return nil
}

func decodesItself(t reflect.Type) *jsonschema.Schema {
	p := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return anyJSON.CloneSchemas()
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && decodesItself(t.Elem()) == nil:
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	default:
		return nil
	}
}

// Walk calls visit with a schema and with each inferred schema within it.
func Walk(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	Walk(s.Items, visit)
	Walk(s.AdditionalProperties, visit)
	for _, p := range s.Properties {
		Walk(p, visit)
	}
}

// IsStruct reports whether a type is a struct whose fields are decoded from JSON. A struct that
// decodes itself does not count.
func IsStruct(t reflect.Type) bool { return t.Kind() == reflect.Struct && decodesItself(t) == nil }
