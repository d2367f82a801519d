package typeschema

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// MakeStrict brings a schema of Infer into the form that OpenAI asks of a strict one, where that
// form can say what it says, and reports whether it can: every property is required, and one that
// was optional may be null.
func MakeStrict(s *jsonschema.Schema, open bool) bool {
	if open || !canBeStrict(s) {
		return false
	}
	Walk(s, requireAll)
	return true
}

// canBeStrict reports whether the strict form can say what a schema says.
func canBeStrict(s *jsonschema.Schema) bool {
	can := true
	Walk(s, func(s *jsonschema.Schema) {
		if s.Not != nil { // the schema false
			return
		}
		untyped := s.Type == "" && len(s.Types) == 0
		fields := !isObject(s) || len(s.Properties) > 0 // a map has none
		can = can && !untyped && fields && s.ContentEncoding == ""
	})
	return can
}

func isObject(s *jsonschema.Schema) bool {
	return s.Type == "object" || slices.Contains(s.Types, "object")
}

// requireAll makes every property of a schema required. One that was optional may be null.
func requireAll(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			allowNull(p)
		}
	}
	if isObject(s) {
		s.Required = slices.Clone(s.PropertyOrder)
	}
}

func allowNull(s *jsonschema.Schema) {
	if s.Type != "" {
		s.Type, s.Types = "", []string{"null", s.Type}
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
}
