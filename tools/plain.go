package tools

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// quick says yes to most texts that fit a schema, without building values. It knows the schemas
// that infer makes of plain structs; when it says no, the text may fit all the same, and the
// validator has to look.
type quick struct {
	kinds    string         // first bytes of the JSON values that are allowed: one of `{["tn0` for each type
	integer  bool           // a number must be written as an integer
	fields   map[string]int // places in schemas; no other field is allowed
	schemas  []*quick       // of the fields
	required uint64         // bit i: field i
	items    *quick
}

// newQuick returns nil for a schema that says more than it knows.
func newQuick(s *jsonschema.Schema) *quick {
	if s == nil || s.Types == nil || !isPlain(s) {
		return nil
	}
	q := &quick{}
	for _, t := range s.Types.ToStrings() {
		switch t {
		case "boolean":
			q.kinds += "t"
		case "number":
			q.kinds += "0"
		case "integer":
			q.kinds += "0"
			q.integer = true
		default: // null, string, array, object
			q.kinds += map[string]string{"null": "n", "string": `"`, "array": "[", "object": "{"}[t]
		}
	}
	if strings.Count(q.kinds, "0") > 1 || strings.Contains(q.kinds, "{") && !q.addFields(s) {
		return nil
	}
	if strings.Contains(q.kinds, "[") {
		if q.items = newQuick(s.Items2020); q.items == nil {
			return nil
		}
	}
	return q
}

// isPlain reports whether s has no keywords but those that newQuick reads, and remarks.
func isPlain(s *jsonschema.Schema) bool {
	return s.DraftVersion >= 2020 && s.Bool == nil && s.Ref == nil && s.RecursiveRef == nil && s.DynamicRef == nil &&
		s.Enum == nil && s.Const == nil && s.Not == nil && s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil &&
		s.If == nil && s.Then == nil && s.Else == nil && s.Format == nil &&
		s.MaxProperties == nil && s.MinProperties == nil && s.PropertyNames == nil && s.PatternProperties == nil &&
		s.Dependencies == nil && s.DependentRequired == nil && s.DependentSchemas == nil && s.UnevaluatedProperties == nil &&
		s.MinItems == nil && s.MaxItems == nil && !s.UniqueItems && s.Contains == nil && s.PrefixItems == nil &&
		s.MinContains == nil && s.MaxContains == nil && s.Items == nil && s.AdditionalItems == nil && s.UnevaluatedItems == nil &&
		s.MinLength == nil && s.MaxLength == nil && s.Pattern == nil &&
		s.ContentEncoding == nil && s.ContentMediaType == nil && s.ContentSchema == nil &&
		s.Maximum == nil && s.Minimum == nil && s.ExclusiveMaximum == nil && s.ExclusiveMinimum == nil && s.MultipleOf == nil &&
		s.Extensions == nil
}

// addFields reads the keywords of objects.
func (q *quick) addFields(s *jsonschema.Schema) bool {
	if more, ok := s.AdditionalProperties.(bool); !ok || more || len(s.Properties) > 64 {
		return false
	}
	q.fields = make(map[string]int, len(s.Properties))
	for name, p := range s.Properties {
		field := newQuick(p)
		if field == nil {
			return false
		}
		q.fields[name] = len(q.schemas)
		q.schemas = append(q.schemas, field)
	}
	for _, name := range s.Required {
		i, ok := q.fields[name]
		if !ok {
			return false
		}
		q.required |= 1 << i
	}
	return true
}

// fits reports whether the text is sure to be JSON, within the bounds of parse, that fits.
func (q *quick) fits(text string) bool {
	if q == nil {
		return false
	}
	p := parser{text: text}
	return p.fits(q, 0) && p.peek() == 0 && p.at == len(text)
}

func (p *parser) fits(q *quick, depth int) bool {
	p.values++
	c := p.peek()
	switch {
	case c == 'f':
		c = 't'
	case c == '-' || c >= '0' && c <= '9':
		c = '0'
	}
	if c == 0 || strings.IndexByte(q.kinds, c) < 0 || depth == maxDepth || p.values > maxValues {
		return false
	}
	switch c {
	case '{':
		return p.fitsObject(q, depth+1)
	case '[':
		return p.fitsList(q, depth+1)
	case '"':
		p.string()
	case '0':
		if n := p.number(); q.integer && strings.ContainsAny(n, ".eE") {
			return false
		}
	default:
		p.value(depth)
	}
	return p.problem == nil
}

func (p *parser) fitsObject(q *quick, depth int) bool {
	p.at++
	var seen uint64
	for more := p.peek() != '}'; more; {
		if p.peek() != '"' {
			return false
		}
		i, ok := q.fields[p.string()]
		if !ok || seen&(1<<i) != 0 || !p.expect(':') || !p.fits(q.schemas[i], depth) {
			return false
		}
		seen |= 1 << i
		if more = p.peek() == ','; more {
			p.at++
		}
	}
	return p.expect('}') && seen&q.required == q.required
}

func (p *parser) fitsList(q *quick, depth int) bool {
	p.at++
	for more := p.peek() != ']'; more; {
		if !p.fits(q.items, depth) {
			return false
		}
		if more = p.peek() == ','; more {
			p.at++
		}
	}
	return p.expect(']')
}
