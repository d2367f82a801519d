package tools

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// anyJSON is the schema of a type that may be any JSON. It names the types so that a pointer to it
// does not become the type null; infer takes the names out again.
var anyJSON = jsonschema.Schema{Types: []string{"null", "boolean", "object", "array", "number", "string"}}

// infer returns the schema of a type that arguments are decoded into, and whether the type holds an
// interface, into which encoding/json would decode a number inexactly. Where the type's JSON
// differs from what its Go kind suggests:
//
//   - bytes are a string in base64, and a type that decodes itself from text is a string;
//   - a type that decodes itself from JSON, json.RawMessage among them, may be any JSON; time.Time is a string;
//   - a slice is a list and never null; a pointer may be null.
func infer(t reflect.Type) (schema *jsonschema.Schema, open bool, err error) {
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.Number](): {Type: "number"},
		reflect.TypeFor[time.Time]():   {Type: "string", Format: "date-time"},
	}
	open = survey(t, special, map[reflect.Type]bool{})
	schema, err = jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special})
	if err == nil {
		err = completeFields(t, schema)
	}
	if err != nil {
		return nil, false, err
	}
	walk(schema, func(s *jsonschema.Schema) {
		switch {
		case len(s.Types) == len(anyJSON.Types), reflect.ValueOf(*s).IsZero():
			s.Types, s.Description = nil, cmp.Or(s.Description, "any JSON") // and not the schema true, which servers refuse
		case slices.Equal(s.Types, []string{"null", "array"}):
			s.Type, s.Types = "array", nil
		}
	})
	return schema, open, nil
}

// survey looks through a type for types that decode themselves, which it adds to special, and for
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

// walk calls visit with a schema and the ones within it that inference makes.
func walk(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	walk(s.Items, visit)
	walk(s.AdditionalProperties, visit)
	for _, p := range s.Properties {
		walk(p, visit)
	}
}

// parameters is what a typed tool knows of its arguments.
type parameters struct {
	schema *Schema // what the model was told
	shape  *Schema // what fits the Go type; nil if schema is made from it, or it may be anything
	exact  bool    // decode with json.Number: the type holds an interface
}

// newParameters returns the parameters of a tool whose arguments are decoded into t. It fills in
// def.Parameters if there are none.
func newParameters(def *Definition, t reflect.Type) (p parameters, err error) {
	given := def.Parameters != nil
	if given {
		if p.schema, err = compileParameters(def.Parameters); err != nil {
			return p, err
		}
	}
	inferred, open, err := infer(t)
	p.exact = open
	switch {
	case err != nil && given:
		return p, nil // no schema can be made of the type: the given one must do
	case err != nil:
		return p, fmt.Errorf("no schema for %v, give Parameters: %w", t, err)
	case inferred.Type != "object" && (inferred.Type != "" || !given):
		return p, fmt.Errorf("arguments are an object: the type must be a struct or a map with string keys, not %v", t)
	case given:
		walk(inferred, func(s *jsonschema.Schema) { s.Required = nil })
		p.shape, _, err = compileInferred(inferred)
		return p, err
	}
	var raw json.RawMessage
	p.schema, raw, err = compileInferred(inferred)
	if t.Kind() != reflect.Struct || len(inferred.Properties) > 0 {
		def.Parameters = raw
	}
	return p, err
}

// compileInferred asserts formats: a date that is none would fail when it is decoded, with less to
// say.
func compileInferred(s *jsonschema.Schema) (*Schema, json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	compiled, err := compile(doc, c)
	return compiled, raw, err
}

// compileParameters compiles a schema that must be one of objects.
func compileParameters(raw json.RawMessage) (*Schema, error) {
	var top struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, fmt.Errorf("parameters are not a JSON object: %w", err)
	}
	if top.Type != "object" {
		return nil, errors.New(`parameters must be a JSON Schema of "type":"object"`)
	}
	return CompileSchema(raw)
}
