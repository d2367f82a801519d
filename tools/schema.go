package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/segue-go/segue/internal/jsonform"
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
func (s *Schema) Check(text string) error {
	if _, found := s.fit(context.Background(), []byte(text), false); found != nil {
		return &SchemaError{Problems: found}
	}
	return nil
}

// Arguments checks the arguments of a call as [Schema.Check] does, and returns them as the tool
// gets them. Empty arguments and null count as {}. Models write null for what they leave out: a
// member of an object, at any level, counts as left out if it is null, and the schema neither
// requires it nor accepts null there.
func (s *Schema) Arguments(arguments string) (string, error) {
	return s.ArgumentsContext(context.Background(), arguments)
}

// ArgumentsContext is [Schema.Arguments], which ends when ctx does, with the cause.
func (s *Schema) ArgumentsContext(ctx context.Context, arguments string) (string, error) {
	text, found := s.arguments(ctx, arguments)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case found != nil:
		return "", &SchemaError{Problems: found}
	}
	return string(text), nil
}

func (s *Schema) arguments(ctx context.Context, arguments string) ([]byte, []Problem) {
	if blank := strings.TrimSpace(arguments); blank == "" || blank == "null" {
		arguments = "{}"
	}
	return s.fit(ctx, []byte(arguments), true)
}

// fit returns a JSON text if it fits, and otherwise its problems. If lenient, nulls that are
// refused and can be left out are no problems, and the text is returned without them.
func (s *Schema) fit(ctx context.Context, text []byte, lenient bool) ([]byte, []Problem) {
	if s.plain.accepts(text) {
		return text, nil
	}
	v, problem := parse(text)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	err := s.bounded.Validate(ctx, v)
	if err == nil {
		return text, nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil, []Problem{{Message: err.Error()}} // boundschema.ErrWork
	}
	found := problems(invalid)
	if lenient && dropNulls(v, invalid) && s.bounded.Validate(ctx, v) == nil {
		if less, err := jsonform.Marshal(v); err == nil {
			return less, nil
		}
	}
	return nil, found
}

// dropNulls removes the members of objects that are null and have an error, and reports whether
// there were any.
func dropNulls(v any, e *jsonschema.ValidationError) (dropped bool) {
	at := v
	for i, token := range e.InstanceLocation {
		switch in := at.(type) {
		case map[string]any:
			var ok bool
			if at, ok = in[token]; ok && at == nil && i == len(e.InstanceLocation)-1 {
				delete(in, token)
				dropped = true
			}
		case []any:
			if n, err := strconv.Atoi(token); err == nil && n < len(in) {
				at = in[n]
			} else {
				at = nil // the validator may place propertyNames elsewhere
			}
		}
	}
	for _, cause := range e.Causes {
		dropped = dropNulls(v, cause) || dropped
	}
	return dropped
}
