package explore

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/strategy"
)

// whatIsLost names the fields of strategies that have come back otherwise from a snapshot; "" if
// there are none to be seen.
func (w *walk) whatIsLost() string {
	if len(w.forgotten) == 0 {
		return ""
	}
	slices.Sort(w.forgotten)
	empty := func(change string) bool {
		return slices.Contains([]string{"null", `""`, "0", "false", "[]", "{}", ""}, change[strings.LastIndex(change, became)+len(became):])
	}
	if slices.ContainsFunc(w.forgotten, empty) { // others may be caches
		w.forgotten = slices.DeleteFunc(w.forgotten, func(change string) bool { return !empty(change) })
	}
	return "in a restored strategy, " + strings.Join(slices.Compact(w.forgotten), ", ") + "; "
}

const became = " became "

// differing says which fields of a strategy a restored one has otherwise. Machines, functions and
// channels are left out.
func differing(was, is strategy.Strategy) []string {
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	if a.Kind() != reflect.Pointer || a.Type() != b.Type() || a.Elem().Kind() != reflect.Struct {
		return nil
	}
	return fieldsOf(a.Elem(), b.Elem())
}

func fieldsOf(was, is reflect.Value) (all []string) {
	for i := range was.NumField() {
		field, a, b := was.Type().Field(i), was.Field(i), is.Field(i)
		switch {
		case field.Type.Kind() == reflect.Struct:
			all = append(all, fieldsOf(a, b)...)
		case field.Type.Kind() == reflect.Func, field.Type.Kind() == reflect.Chan, field.Type == reflect.TypeFor[*strategy.FSM]():
		case shownAs(a) != shownAs(b) && !strings.Contains(shownAs(a), "0xc"): // an address
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				name = field.Name
			}
			all = append(all, fmt.Sprintf("%s: %.80s%s%.80s", name, shownAs(a), became, shownAs(b)))
		}
	}
	return all
}

// shownAs returns a value as JSON if it can be read from outside of its package.
func shownAs(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return "null"
		}
	}
	if v.CanInterface() {
		if text, err := json.Marshal(v.Interface()); err == nil {
			return string(text)
		}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return fmt.Sprintf("%+v", v)
}
