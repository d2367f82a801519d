package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/segue-go/segue/tools/internal/boundschema"
	"github.com/segue-go/segue/tools/internal/schemamemo"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use. A schema without "$schema" is
// read as draft 2020-12. The keyword "format" is an annotation, as in that draft. A reference to
// another document is an error.
//
// A schema may come from a stranger: one of more than 128 levels is an error, as are patterns that
// repeat very much, and a check ends where it becomes too much work.
type Schema struct {
	bounded *boundschema.Schema
	plain   *plainSchema // nil if the schema needs the validator
}

// What CompileSchema and compileInferred have compiled last.
var compiledLast, inferredLast schemamemo.Memo[Schema]

// CompileSchema compiles a JSON Schema. It keeps the ones that were compiled last, up to half a
// megabyte of their texts, and returns the same Schema for the same text.
func CompileSchema(schema json.RawMessage) (*Schema, error) {
	return compiledLast.Compile(schema, func() (*Schema, error) { return compileText(schema) })
}

func compileText(schema json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("tools: the schema is not JSON: %w", err)
	}
	return compile(doc, jsonschema.NewCompiler())
}

func compile(doc any, c *jsonschema.Compiler) (*Schema, error) {
	compiled, err := boundschema.Compile(doc, c)
	if err != nil {
		return nil, fmt.Errorf("tools: the schema: %w", err)
	}
	plain := newPlainSchema(compiled) // before it is changed
	return &Schema{bounded: boundschema.Watch(compiled), plain: plain}, nil
}

// Check checks a JSON text against the schema. It returns a [*SchemaError] with all problems. It
// refuses a text that is nested deeper than 64 levels, has more than 100,000 values, or has a name
// twice in an object, and a check that is too much work.
func (s *Schema) Check(text string) error { return s.CheckContext(context.Background(), text) }

// CheckContext is [Schema.Check], which ends when ctx does, with the cause.
func (s *Schema) CheckContext(ctx context.Context, text string) error {
	switch found := s.problems(ctx, []byte(text)); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case found != nil:
		return &SchemaError{Problems: found}
	}
	return nil
}

// problems returns the problems of a JSON text.
func (s *Schema) problems(ctx context.Context, text []byte) []Problem {
	if s.plain.accepts(text) {
		return nil
	}
	v, problem := parse(text)
	if problem != nil {
		return []Problem{*problem}
	}
	err := s.bounded.Validate(ctx, v)
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return problems(invalid)
	}
	return []Problem{{Message: err.Error()}} // boundschema.ErrWork
}
