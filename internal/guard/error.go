package guard

import (
	"errors"
	"reflect"
)

// Error is an error of code that is not ours, as data: its text was read once, and its other
// methods are called where they may panic. What it wraps is found by errors.Is and errors.As, as
// before.
type Error struct {
	err  error // nil if nothing can be looked for in it
	text string
}

// New returns err as data. In an error that wraps itself nothing is found: looking
// would never end.
func New(err error, text string) (e *Error) {
	e = &Error{err: err, text: text}
	defer func() { _ = recover() }() // of Unwrap: what is above that is found
	if !Finite(err) {
		e.err = nil
	}
	return e
}

// Error returns the text that the error had when it came in.
func (e *Error) Error() string { return e.text }

// Is looks for a target in what the error wraps.
func (e *Error) Is(target error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return errors.Is(e.err, target)
}

// As looks for a target in what the error wraps. A typed nil is no find: whoever asks would read
// its fields.
func (e *Error) As(target any) (found bool) {
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
