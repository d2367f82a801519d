package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/internal/textcut"
)

// New returns a tool from a function with typed arguments and a typed result.
//
// In is a struct or a map with string keys. If def has no Parameters, they are inferred from In by
// github.com/google/jsonschema-go. Names come from json tags. A field without omitempty or omitzero
// is required. Unknown fields are refused. A tag `jsonschema:"…"` is the description of its field,
// and a tag `enum:"small,large"` lists the allowed values of a string. An In without fields, such
// as struct{}, makes a tool without parameters. An In with only unexported fields is an error.
//
// Before the function runs, the arguments must be JSON, fit the Parameters and fit In. Otherwise
// Call returns an [*ArgumentError] that lists all problems. Empty arguments and null count as {}. A
// member that is null counts as left out where the Parameters neither require it nor accept null;
// see [Schema.Arguments]. Arguments are refused if they are longer than 1 MiB, are nested deeper
// than 64 levels, have more than 100,000 values, or have a name twice in an object. Numbers are
// kept exact: an interface in In receives a json.Number. An integer may be written as 5.0 or 1e3,
// as in JSON Schema.
//
// A result of type string or json.RawMessage is returned unchanged; any other is encoded as compact
// JSON.
//
// New never fails. Check, Call and [NewSet] report errors in def or In.
func New[In, Out any](def Definition, fn func(ctx context.Context, in In) (Out, error)) Tool {
	params, err := newParameters(&def, reflect.TypeFor[In]())
	if err == nil && fn == nil {
		err = errNoFunction
	}
	t := &typed[In, Out]{def: def, params: params, fn: fn}
	if err != nil {
		t.err = &definitionError{name: def.Name, err: err}
	}
	return t
}

type typed[In, Out any] struct {
	def    Definition
	params parameters
	fn     func(context.Context, In) (Out, error)
	err    error // the error of the construction
}

func (t *typed[In, Out]) Definition() Definition { return t.def }

func (t *typed[In, Out]) Check() error { return t.err }

func (t *typed[In, Out]) Call(ctx context.Context, arguments string) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	var in In
	if found := t.params.decode(ctx, arguments, &in); found != nil {
		return "", &ArgumentError{Tool: t.def.Name, Problems: found}
	}
	out, err := t.fn(ctx, in)
	if err != nil {
		return "", err
	}
	text, err := resultText(out)
	if err != nil {
		return "", fmt.Errorf("tools: the result of %s is not JSON: %w", t.def.Name, err)
	}
	return text, nil
}

// decode checks arguments and decodes them into in.
func (p *parameters) decode(ctx context.Context, arguments string, in any) []Problem {
	if most := maxArguments(ctx, arguments); len(arguments) > most {
		return []Problem{tooLong(len(arguments), most)}
	}
	text, found := p.schema.arguments(ctx, arguments)
	if found == nil && p.shape != nil {
		_, found = p.shape.fit(ctx, text, false)
	}
	if found != nil {
		return found
	}
	if err := jsonform.Decode(text, in, p.exact); err != nil {
		return []Problem{undecodable(err)}
	}
	return nil
}

// undecodable describes why arguments that fit the schema do not fit the Go type: a number is out
// of range, or a type that decodes itself returned an error.
func undecodable(err error) Problem {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		place := ""
		if e.Field != "" {
			place = pointer(strings.Split(e.Field, "."))
		}
		return Problem{Pointer: place, Message: fmt.Sprintf("does not fit the type %v", e.Type)}
	}
	return Problem{Message: textcut.Short(longQuote.ReplaceAllString(err.Error(), `"…"`), 200)}
}

// longQuote matches a quoted piece of text that may be an argument.
var longQuote = regexp.MustCompile(`"(?:\\.|[^"\\]){9,}"`)

func tooLong(size, most int) Problem {
	return Problem{Message: fmt.Sprintf("%d bytes are too long: at most %d", size, most)}
}

// resultText writes a result for the model.
func resultText(out any) (string, error) {
	switch out := out.(type) {
	case string:
		return out, nil
	case json.RawMessage:
		return string(out), nil
	}
	data, err := jsonform.Marshal(out)
	return string(data), err
}
