// Package guard reads errors and values of panics that come from code outside this module. Methods
// of these may panic or never return.
package guard

import (
	"reflect"
	"runtime"
)

// RuntimeText returns the text of a panic's value if the Go runtime wrote it. It does not ask for
// any other text, which may contain a secret.
func RuntimeText(value any) (text string, ok bool) {
	err, ok := value.(runtime.Error)
	if !ok || !ofRuntime(reflect.TypeOf(value)) {
		return "", false
	}
	defer func() {
		if recover() != nil { // a nil pointer
			text, ok = "", false
		}
	}()
	return err.Error(), true
}

// ofRuntime reports whether the Go runtime declares a type, or the type it points to.
func ofRuntime(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == "runtime"
}

// mostErrors limits the number of errors in an error's tree, including itself.
const mostErrors = 10_000

// Finite reports whether errors.Is and errors.As terminate on err. They do not if an error wraps
// itself. It calls Unwrap, which may panic.
func Finite(err error) bool {
	left := mostErrors
	return finite(err, &left)
}

func finite(err error, left *int) bool {
	for err != nil {
		if *left--; *left < 0 {
			return false
		}
		switch e := err.(type) { //nolint:errorlint // each error of the tree is examined separately
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, child := range e.Unwrap() {
				if !finite(child, left) {
					return false
				}
			}
			return true
		default:
			return true
		}
	}
	return true
}
