package jsonform

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Form is the JSON form of the struct T, as the tags of its fields declare it: a field whose tag says
// neither omitempty nor omitzero is required. Make it once, with [Of]; it may be used from any
// number of goroutines.
type Form[T any] struct{ shape shape }

// Of returns the form of T. The structs in T are part of the form, unless they read themselves. The
// object may have fields of the names in also, which are not read.
func Of[T any](also ...string) Form[T] {
	s := shapeOf(reflect.TypeFor[T]())
	for _, name := range also {
		s.fields = append(s.fields, field{name: name})
	}
	return Form[T]{s}
}

// Read reads a T. A field that T does not have, and a required one that is missing or null, are
// errors that name the field, wherever in T they are. Names are compared as they are written.
func (f *Form[T]) Read(data []byte) (T, error) {
	var v T
	if json.Valid(data) {
		if err := f.shape.check(data, ""); err != nil {
			return v, err
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// shape is what a form says of a value: an object with its fields, or a list or map of values with
// a shape; or nothing.
type shape struct {
	fields []field
	elem   *shape
	keyed  bool // elem is that of a map
}

type field struct {
	name     string
	required bool
	shape    shape
}

var (
	readsJSON = reflect.TypeFor[json.Unmarshaler]()
	readsText = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(readsJSON) || p.Implements(readsText) {
		return shape{}
	}
	switch t.Kind() {
	case reflect.Struct:
		return shape{fields: fieldsOf(t)}
	case reflect.Slice, reflect.Array, reflect.Map:
		elem := shapeOf(t.Elem())
		if elem.fields == nil && elem.elem == nil {
			return shape{}
		}
		return shape{elem: &elem, keyed: t.Kind() == reflect.Map}
	default:
		return shape{}
	}
}

func fieldsOf(t reflect.Type) []field {
	fields := []field{} // an object without fields is one all the same
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous && name == "" || name == "-" {
			continue
		}
		if len(fields) == 64 {
			panic("jsonform: " + t.String() + " has more than 64 fields")
		}
		if name == "" {
			name = f.Name
		}
		fields = append(fields, field{name: name, required: !strings.Contains(options, "omit"), shape: shapeOf(f.Type)})
	}
	return fields
}

// check looks for fields that are unknown or missing in valid JSON. Values without a shape are left
// to whoever decodes them.
func (s *shape) check(data []byte, place string) error {
	switch {
	case s.fields != nil:
		return s.checkObject(data, place)
	case s.elem == nil:
		return nil
	case s.keyed:
		return misread(place, members(data, func(name, value []byte) error {
			return s.elem.check(value, within(place, string(name)))
		}))
	default:
		return misread(place, elements(data, func(n int, value []byte) error {
			return s.elem.check(value, fmt.Sprintf("%s[%d]", place, n))
		}))
	}
}

func (s *shape) checkObject(data []byte, place string) error {
	var found uint64 // of the fields, bit by bit
	err := members(data, func(name, value []byte) error {
		i := s.field(name)
		if i < 0 {
			return &fieldError{within(place, string(name)), "is unknown"}
		}
		if string(value) == "null" {
			return nil // as if it were missing
		}
		found |= 1 << i
		f := &s.fields[i]
		if f.shape.fields == nil && f.shape.elem == nil {
			return nil
		}
		return f.shape.check(value, within(place, f.name))
	})
	if err != nil {
		return misread(place, err)
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.required && found&(1<<i) == 0 {
			return &fieldError{within(place, f.name), "is missing"}
		}
	}
	return nil
}

// field returns which field has that name, or -1.
func (s *shape) field(name []byte) int {
	for i := range s.fields {
		if s.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// fieldError says what is wrong with a field.
type fieldError struct{ path, problem string }

func (e *fieldError) Error() string { return fmt.Sprintf("the field %.128q %s", e.path, e.problem) }

// misread is the error of a value that is of another kind than its shape. It names the place, unless
// err names one within.
func misread(place string, err error) error {
	if _, ok := err.(*fieldError); ok || err == nil || place == "" { //nolint:errorlint // made here, never wrapped
		return err
	}
	return &fieldError{place, "cannot be read: " + err.Error()}
}

func within(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}
