package llmclient

import (
	"reflect"
	"strings"

	"github.com/segue-go/segue/tools"
)

// SchemaOf returns the [Schema] of answers that are decoded into a T, a struct, with the name of
// its type; see [tools.SchemaOf]. The error says what a schema cannot express.
func SchemaOf[T any]() (*Schema, error) {
	raw, strict, err := tools.SchemaOf[T]()
	if err != nil {
		return nil, err
	}
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(t.Name(), "[") // without type parameters
	return &Schema{Name: schemaName(name), Schema: raw, Strict: strict}, nil
}

// schemaName changes a type name to one that a [Schema] may have.
func schemaName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}
