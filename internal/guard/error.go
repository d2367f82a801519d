package guard

import (
	"errors"
	"reflect"
)

// Error is an error of foreign code, as data. Its text was read once. Its other methods are called
// with protection from panics. errors.Is and errors.As find what it wraps, as before.
type Error struct {
	err  error // nil if it cannot be searched
	text string
}

// New returns err as data. An error that wraps itself is not searched, because the search would
// never end.
func New(err error, text string) (e *Error) {
	e = &Error{err: err, text: text}
	defer func() { _ = recover() }() // a panic of Unwrap: the errors above it are found
	if !Finite(err) {
		e.err = nil
	}
	return e
}

// Error returns the original text of the error.
func (e *Error) Error() string { return e.text }

// Is searches the wrapped errors for a target.
func (e *Error) Is(target error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return errors.Is(e.err, target)
}

// As searches the wrapped errors for a target. A typed nil does not count, because the caller would
// read its fields.
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
