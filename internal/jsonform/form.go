package jsonform

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Form is the JSON form of the struct T, as declared by the tags of its fields. A field whose tag
// has neither omitempty nor omitzero is required. Make a Form once, with [Of]; it is safe for
// concurrent use.
type Form[T any] struct{ shape shape }

// Of returns the form of T. The structs in T are part of the form, unless they decode themselves.
// The object may also have fields with the names in also, which are ignored.
func Of[T any](also ...string) Form[T] {
	s := shapeOf(reflect.TypeFor[T]())
	for _, name := range also {
		s.fields = append(s.fields, field{name: name})
	}
	return Form[T]{s}
}

// Read reads a T. A field that T does not have, and a required field that is missing or null, are
// errors that name the field, at any depth of T. Names are case-sensitive.
func (f *Form[T]) Read(data []byte) (T, error) {
	var v T
	var c Cursor
	c.Begin(data, maxDepth)
	if err := f.shape.check(&c, ""); err != nil && json.Valid(data) {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// maxDepth is the nesting depth that encoding/json accepts.
const maxDepth = 10_000

// shape describes the form of a value: an object with its fields, or a list or map of values with a
// shape; or nothing.
type shape struct {
	fields []field
	elem   *shape
	keyed  bool // elem is the shape of a map's values
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
	fields := []field{} // an object without fields is still an object
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

// check finds unknown and missing fields. Values without a shape, and text that is not JSON, are
// left to the decoder.
func (s *shape) check(c *Cursor, place string) error {
	switch {
	case s.fields != nil:
		return s.checkObject(c, place)
	case s.elem == nil:
		c.Skip()
		return nil
	case s.keyed:
		return s.checkMap(c, place)
	default:
		return s.checkList(c, place)
	}
}

func (s *shape) checkMap(c *Cursor, place string) error {
	if c.Peek() != '{' {
		return misread(place, "it is no object")
	}
	for more := c.Open('{'); more; more = c.More('}') {
		if err := s.elem.check(c, within(place, string(c.Name()))); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) checkList(c *Cursor, place string) error {
	if c.Peek() != '[' {
		return misread(place, "it is no list")
	}
	n := 0
	for more := c.Open('['); more; more = c.More(']') {
		if err := s.elem.check(c, fmt.Sprintf("%s[%d]", place, n)); err != nil {
			return err
		}
		n++
	}
	return nil
}

func (s *shape) checkObject(c *Cursor, place string) error {
	if c.Peek() != '{' {
		return misread(place, "it is no object")
	}
	var found uint64 // a bit for each field
	for more := c.Open('{'); more; more = c.More('}') {
		name := c.Name()
		i := s.field(name)
		if i < 0 {
			return &fieldError{within(place, string(name)), "is unknown"}
		}
		if c.Peek() == 'n' { // null counts as missing
			c.Skip()
			continue
		}
		found |= 1 << i
		if err := s.fields[i].shape.check(c, within(place, s.fields[i].name)); err != nil {
			return err
		}
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.required && found&(1<<i) == 0 {
			return &fieldError{within(place, f.name), "is missing"}
		}
	}
	return nil
}

// field returns the index of the field with that name, or -1.
func (s *shape) field(name []byte) int {
	for i := range s.fields {
		if s.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// fieldError describes the error of a field.
type fieldError struct{ path, problem string }

func (e *fieldError) Error() string { return fmt.Sprintf("the field %.128q %s", e.path, e.problem) }

// misread returns the error for a value of another kind than its shape.
func misread(place, problem string) error {
	if place == "" {
		return errors.New(problem)
	}
	return &fieldError{place, "cannot be read: " + problem}
}

// Member returns the value of the last member with that name in an object. It returns nil if there
// is none, or if data, which must be JSON, is not an object.
func Member(data []byte, name string) (value []byte) {
	var c Cursor
	c.Begin(data, maxDepth)
	for more := c.Open('{'); more; more = c.More('}') {
		if string(c.Name()) == name {
			value = c.Raw()
			continue
		}
		c.Skip()
	}
	return value
}

func within(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}
