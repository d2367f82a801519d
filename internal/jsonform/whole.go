package jsonform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode reads JSON into v as encoding/json does, with exact the numbers in interfaces as
// json.Number. Where encoding/json refuses a whole number, such as 5.0 or 1e3, because an integer
// type takes it, the number is read as the integer that it is. Every other value, also of a type
// that decodes itself, is read as it is written.
func Decode(data []byte, v any, exact bool) error {
	err := decode(data, v, exact)
	if err == nil || v == nil {
		return err
	}
	w := wholes{data: data, fields: map[reflect.Type][]reflect.StructField{}}
	w.Begin(data, maxDepth)
	w.value(reflect.TypeOf(v))
	if !w.End() || w.out == nil {
		return err
	}
	return decode(append(w.out, data[w.copied:]...), v, exact)
}

func decode(data []byte, v any, exact bool) error {
	if !exact {
		return json.Unmarshal(data, v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// wholes writes JSON for a type anew, with the whole numbers for its integers as integers.
type wholes struct {
	Cursor
	data   []byte
	out    []byte // nil: no number differs
	copied int    // how much of data is in out
	fields map[reflect.Type][]reflect.StructField
}

// value reads a value for a type.
func (w *wholes) value(t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(readsJSON) || p.Implements(readsText) {
		w.Skip()
		return
	}
	switch k := t.Kind(); {
	case k == reflect.Slice || k == reflect.Array:
		for more := w.Open('['); more; more = w.More(']') {
			w.value(t.Elem())
		}
	case k == reflect.Map:
		for more := w.Open('{'); more; more = w.More('}') {
			w.Name()
			w.value(t.Elem())
		}
	case k == reflect.Struct:
		for more := w.Open('{'); more; more = w.More('}') {
			w.value(w.member(t, string(w.Name())))
		}
	case k < reflect.Int || k > reflect.Uintptr:
		w.Skip()
	default:
		number := w.Raw()
		if digits := integer(number); digits != "" {
			w.out = append(append(w.out, w.data[w.copied:w.At()-len(number)]...), digits...)
			w.copied = w.At()
		}
	}
}

// member returns the type of the field of a struct that a member of an object is read into, or that
// of an interface if there is none. Outer fields come before those of embedded structs, and names
// of the same case before others.
func (w *wholes) member(t reflect.Type, name string) reflect.Type {
	if _, known := w.fields[t]; !known {
		w.fields[t] = reflect.VisibleFields(t)
		slices.SortStableFunc(w.fields[t], func(a, b reflect.StructField) int { return len(a.Index) - len(b.Index) })
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, f := range w.fields[t] {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && same(cmp.Or(tag, f.Name), name) {
				return f.Type
			}
		}
	}
	return reflect.TypeFor[any]()
}

// integer returns the integer that a number is. It returns "" for a number that is not whole, for
// one with more digits than any integer type has, and for other JSON.
func integer(number []byte) string {
	text, negative := strings.CutPrefix(string(number), "-")
	if text == "" || text[0] < '0' || text[0] > '9' {
		return ""
	}
	exponent, err := 0, error(nil)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err = strconv.Atoi(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits := strings.TrimRight(all, "0")
	zeros := exponent - len(fraction) + len(all) - len(digits)
	switch {
	case digits == "":
		return "0"
	case err != nil || zeros < 0 || zeros > 20-len(digits):
		return ""
	case negative:
		digits = "-" + digits
	}
	return digits + strings.Repeat("0", zeros)
}
