package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/segue-go/segue/tools/internal/typeschema"
)

// parameters describes the arguments of a typed tool.
type parameters struct {
	schema *Schema // the schema given to the model
	shape  *Schema // accepts what fits the Go type; nil if schema is inferred from the type, or anything fits
	exact  bool    // decode with json.Number: the type holds an interface
}

// newParameters returns the parameters of a tool whose arguments are decoded into t. It fills in
// def.Parameters if they are empty.
func newParameters(def *Definition, t reflect.Type) (p parameters, err error) {
	if allHidden(t) {
		return p, fmt.Errorf("no field of %v is exported, so that no argument can be read into it: begin their names with capital letters", t)
	}
	given := def.Parameters != nil
	if given {
		if p.schema, err = compileParameters(def.Parameters); err != nil {
			return p, err
		}
	}
	inferred, open, err := typeschema.Infer(t)
	p.exact = open
	switch {
	case err != nil && given:
		return p, nil // the type has no schema: the given one must suffice
	case err != nil:
		return p, fmt.Errorf("no schema for %v, give Parameters: %w", t, err)
	case inferred.Type != "object" && (inferred.Type != "" || !given):
		return p, fmt.Errorf("arguments are an object: the type must be a struct or a map with string keys, not %v", t)
	case given:
		typeschema.Walk(inferred, func(s *jsonschema.Schema) { s.Required = nil })
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

// compileInferred asserts formats: an invalid date would fail only at decoding, with a less useful
// error.
func compileInferred(s *jsonschema.Schema) (*Schema, json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := inferredLast.Compile(raw, func() (*Schema, error) {
		doc, err := validator.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		c := validator.NewCompiler()
		c.AssertFormat()
		return compile(doc, c)
	})
	return compiled, raw, err
}

// compileParameters compiles a schema, which must be of type object.
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

// allHidden reports whether a type is a struct with fields, all of them unexported, so that no JSON
// can be decoded into it.
func allHidden(t reflect.Type) bool {
	if !typeschema.IsStruct(t) {
		return false
	}
	hidden := false
	for f := range t.Fields() {
		if f.IsExported() || f.Anonymous {
			return false
		}
		hidden = hidden || f.Name != "_"
	}
	return hidden
}
