package typeschema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// completeFields adds to the schema of a type what inference does not read from the field tags: the
// lists of `enum:"a,b"`, and quoted numbers, as the option string of json tags demands. It returns
// an error for structs that inference reads in another way than encoding/json.
func completeFields(t reflect.Type, s *jsonschema.Schema) error {
	switch {
	case s == nil:
		return nil
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		return fmt.Errorf("JSON cannot be read into the interface %v", t)
	case t.Kind() == reflect.Pointer:
		allowNoList(t.Elem(), s)
		return completeFields(t.Elem(), s)
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return completeFields(t.Elem(), s.Items)
	case t.Kind() == reflect.Map:
		return completeFields(t.Elem(), s.AdditionalProperties)
	case t.Kind() != reflect.Struct || s.Properties == nil:
		return nil
	}
	seen := map[string]bool{}
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			if err := checkEmbedded(field); err != nil {
				return fmt.Errorf("the embedded field %s: %w", field.Name, err)
			}
			continue
		}
		name, options := jsonName(field)
		if name == "" {
			continue
		}
		if seen[name] {
			return fmt.Errorf("two fields have the name %q in JSON", name)
		}
		seen[name] = true
		if err := completeField(field, options, s.Properties[name]); err != nil {
			return fmt.Errorf("the field %s: %w", field.Name, err)
		}
	}
	return nil
}

// nullOrList are the types of a pointer to a list, in another order than inference gives to every
// list.
var nullOrList = []string{"array", "null"}

// allowNoList marks the schema of a pointer to a list, so that it may go on being null.
func allowNoList(elem reflect.Type, s *jsonschema.Schema) {
	if elem.Kind() == reflect.Slice && slices.Equal(s.Types, []string{"null", "array"}) {
		s.Types = nullOrList
	}
}

// jsonName returns the name of a field in JSON, or "" if JSON has no such field, and the options of
// its tag.
func jsonName(field reflect.StructField) (name string, options []string) {
	tag := field.Tag.Get("json")
	if !field.IsExported() || tag == "-" {
		return "", nil
	}
	parts := strings.Split(tag, ",")
	if parts[0] == "" {
		parts[0] = field.Name
	}
	return parts[0], parts[1:]
}

// checkEmbedded returns an error for an embedded field whose fields do not become fields of the
// struct around it.
func checkEmbedded(field reflect.StructField) error {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		if !field.IsExported() {
			return errors.New("JSON cannot be decoded into an embedded pointer to an unexported type")
		}
	}
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name != "" || t.Kind() != reflect.Struct && field.IsExported() {
		return errors.New("encoding/json treats it as a single field: make it a named field in Go too")
	}
	return nil
}

func completeField(field reflect.StructField, options []string, p *jsonschema.Schema) error {
	if p == nil {
		return nil
	}
	if err := completeFields(field.Type, p); err != nil {
		return err
	}
	if slices.Contains(options, "string") {
		if err := quote(field.Type, p); err != nil {
			return err
		}
	}
	if values, ok := field.Tag.Lookup("enum"); ok {
		if err := setEnum(p, values); err != nil {
			return fmt.Errorf("its tag enum: %w", err)
		}
	}
	return nil
}

// quote changes a number or bool in the schema to a string that contains it, as the option string
// demands. The option is refused for strings, because no model would get their quotes right. It is
// ignored for other types.
func quote(t reflect.Type, s *jsonschema.Schema) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var pattern string
	switch k := t.Kind(); {
	case k == reflect.String:
		return errors.New("the option string of a json tag cannot be used for a string")
	case k == reflect.Bool:
		pattern = "^(true|false)$"
	case reflect.Int <= k && k <= reflect.Uintptr:
		pattern = "^-?(0|[1-9][0-9]*)$"
	case k == reflect.Float32, k == reflect.Float64:
		pattern = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	default:
		return nil
	}
	quoted := jsonschema.Schema{Type: "string", Pattern: pattern, Description: s.Description}
	if slices.Contains(s.Types, "null") {
		quoted.Type, quoted.Types = "", []string{"null", "string"}
	}
	*s = quoted
	return nil
}

// setEnum restricts a string, or each string of a list, to the listed values.
func setEnum(s *jsonschema.Schema, values string) error {
	if s.Items != nil {
		s = s.Items
	}
	nullable := slices.Equal(s.Types, []string{"null", "string"})
	if s.Type != "string" && !nullable {
		return errors.New("only strings can have one")
	}
	for v := range strings.SplitSeq(values, ",") {
		v = strings.TrimSpace(v)
		if v == "" || slices.Contains(s.Enum, any(v)) {
			return fmt.Errorf("%q has an empty or repeated value", values)
		}
		s.Enum = append(s.Enum, v)
	}
	if nullable {
		s.Enum = append(s.Enum, nil)
	}
	return nil
}
