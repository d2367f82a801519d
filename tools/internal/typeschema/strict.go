package typeschema

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// MakeStrict changes a schema of Infer into the strict form that OpenAI requires, and reports
// whether it can. In this form every property is required; one that was optional may be null. A
// schema that the strict form cannot express is left as it is.
func MakeStrict(s *jsonschema.Schema, open bool) bool {
	if open || !canBeStrict(s) {
		return false
	}
	Walk(s, requireAll)
	return true
}

// canBeStrict reports whether the strict form can express a schema.
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
