package nextstep

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/jsonform"
)

// version is the version of the JSON form of steps.
const version = 1

// ErrVersion is wrapped by errors about a version of the JSON form that this package cannot read.
var ErrVersion = errors.New("unsupported version")

// envelope is the JSON form of a step: the kind of the variant, and its fields.
type envelope struct {
	Version int             `json:"v"`
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

// Marshal returns the JSON form of a step: {"v":1,"kind":"execute_tools","body":{…}}. An error in a
// ReportError keeps its code and text, and loses its cause.
func Marshal(s NextStep) ([]byte, error) {
	switch s := s.(type) {
	case GetChatCompletion, ExecuteTools, Delegate, Complete:
		return seal(s.Kind().String(), s)
	case ReportError:
		return seal(s.Kind().String(), reportJSON{Err: delegation.AsError(s.Err), Output: s.Output})
	default:
		return nil, fmt.Errorf("nextstep: %T is not a step", s)
	}
}

// Unmarshal reads the form that [Marshal] writes. An unknown kind is an error that names it.
func Unmarshal(data []byte) (NextStep, error) {
	e, err := open(data)
	if err != nil {
		return nil, err
	}
	var kind Kind
	if err := kind.UnmarshalText([]byte(e.Kind)); err != nil {
		return nil, err
	}
	switch kind {
	case KindGetChatCompletion:
		return body[GetChatCompletion](e)
	case KindExecuteTools:
		return body[ExecuteTools](e)
	case KindDelegate:
		return body[Delegate](e)
	case KindComplete:
		return body[Complete](e)
	default:
		r, err := body[reportJSON](e)
		if err != nil {
			return nil, err
		}
		step := ReportError{Output: r.Output}
		if r.Err != nil { // a nil *Error must not become a non-nil error
			step.Err = r.Err
		}
		return step, nil
	}
}

type reportJSON struct {
	Err    *delegation.Error `json:"error"`
	Output delegation.Output `json:"output"`
}

func seal(kind string, v any) ([]byte, error) {
	raw, err := Encode(v)
	if err != nil {
		return nil, fmt.Errorf("nextstep: %s: %w", kind, err)
	}
	return Encode(envelope{Version: version, Kind: kind, Body: raw})
}

// Encode is json.Marshal without the escapes for HTML. These would change the text of a
// json.RawMessage, which must be the same, byte for byte, after it was written and read.
func Encode(v any) ([]byte, error) { return jsonform.Marshal(v) }

func open(data []byte) (envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return envelope{}, fmt.Errorf("nextstep: %w", err)
	}
	if e.Version != version {
		return envelope{}, fmt.Errorf("nextstep: version %d, want %d: %w", e.Version, version, ErrVersion)
	}
	return e, nil
}

func body[T any](e envelope) (T, error) {
	var v T
	if err := json.Unmarshal(e.Body, &v); err != nil {
		var zero T
		return zero, fmt.Errorf("nextstep: %s: %w", e.Kind, err)
	}
	return v, nil
}
