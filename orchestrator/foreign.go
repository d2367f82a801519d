package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/nextstep"
)

// foreignError is an error of code that is not ours, as data: its text was read once, and its other
// methods are called where they may panic. What it wraps is found by errors.Is and errors.As, as
// before.
type foreignError struct {
	err  error // nil if nothing can be looked for in it
	text string
}

// newForeignError returns err as data. In an error that wraps itself nothing is found: looking
// would never end.
func newForeignError(err error, text string) (e *foreignError) {
	e = &foreignError{err: err, text: text}
	defer func() { _ = recover() }() // of Unwrap: what is above that is found
	if !guard.Finite(err) {
		e.err = nil
	}
	return e
}

// foreign makes data of an error where it comes in: from a client, a middleware, a remote, a store,
// Config.Reply, or as the cause of a context. Nobody behind that boundary calls a method of the
// error itself. One that cannot even be read, such as a typed nil, becomes a [*PanicError] with
// [delegation.CodePanic], which is returned besides.
func foreign(err error) (unreadable *PanicError, sound error) {
	switch e := err.(type) { //nolint:errorlint // the exact types that are sound already
	case nil:
		return nil, nil
	case *foreignError:
		return nil, e
	case *SuspendedError:
		if e != nil {
			return nil, e
		}
	}
	defer func() {
		if v := recover(); v != nil {
			unreadable = &PanicError{Value: v, Stack: debug.Stack()}
			sound = delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: the Error method of a %T %w", err, unreadable))
		}
	}()
	return nil, newForeignError(err, err.Error())
}

// foreign is foreign for an error of the step in progress: that it cannot be read is reported.
func (r *run) foreign(err error, whose string) error {
	unreadable, sound := foreign(err)
	if unreadable != nil {
		r.panicked("an error of "+whose, unreadable.Value, unreadable.Stack)
	}
	return sound
}

// Error returns the text that the error had when it came in.
func (e *foreignError) Error() string { return e.text }

// Is looks for a target in what the error wraps.
func (e *foreignError) Is(target error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return errors.Is(e.err, target)
}

// As looks for a target in what the error wraps. A typed nil is no find: whoever asks would read
// its fields.
func (e *foreignError) As(target any) (found bool) {
	defer func() {
		if recover() != nil {
			found = false
		}
	}()
	if !errors.As(e.err, target) {
		return false
	}
	place := reflect.ValueOf(target).Elem()
	if place.Kind() == reflect.Pointer && place.IsNil() {
		return false
	}
	return true
}

// boundary is a Handler that may be somebody else's, with what it returns as data.
func boundary(h Handler) Handler {
	return func(ctx context.Context, call Call) (nextstep.Answer, error) {
		answer, err := h(ctx, call)
		switch a := answer.(type) {
		case nextstep.Failure:
			if a.Err != nil {
				a.Err = call.run.foreign(a.Err, "a middleware")
				answer = a
			}
		case nextstep.Stop:
			if a.Err != nil {
				a.Err = call.run.foreign(a.Err, "a middleware")
				answer = a
			}
		default: // holds no error that is not data
		}
		return answer, call.run.foreign(err, "a middleware")
	}
}

// causeOfContext returns why a context is done, as data; nil if it is not.
func causeOfContext(ctx context.Context) error {
	_, cause := foreign(context.Cause(ctx))
	return cause
}
