package tools

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plainSchema recognizes most texts that fit a schema, without building values. It supports the
// schemas that Infer makes of plain structs. False is inconclusive: the text may still fit, and the
// validator has to check it.
type plainSchema struct {
	kinds    string         // the allowed first bytes of values, as in firstBytes
	integer  bool           // a number must be written as an integer
	fields   map[string]int // places in schemas; no other field is allowed
	schemas  []*plainSchema // the schemas of the fields
	required uint64         // bit i: field i
	items    *plainSchema
}

// firstBytes maps a JSON type to the first bytes of its values. The byte of true also stands for
// false, and 0 stands for the first byte of any number.
var firstBytes = map[string]string{
	"boolean": "t", "number": "0", "integer": "0", "null": "n", "string": `"`, "array": "[", "object": "{",
}

// newPlainSchema returns nil for a schema that plainSchema does not support.
func newPlainSchema(s *jsonschema.Schema) *plainSchema {
	if s == nil || s.Types == nil || !isPlain(s) {
		return nil
	}
	p := &plainSchema{}
	for _, t := range s.Types.ToStrings() {
		p.kinds += firstBytes[t]
		p.integer = p.integer || t == "integer"
	}
	if strings.Count(p.kinds, "0") > 1 || strings.Contains(p.kinds, "{") && !p.addFields(s) {
		return nil
	}
	if strings.Contains(p.kinds, "[") {
		if p.items = newPlainSchema(s.Items2020); p.items == nil {
			return nil
		}
	}
	return p
}

// plainFields are the fields of jsonschema.Schema that newPlainSchema reads, and annotations.
var plainFields = []string{
	"DraftVersion", "Types", "Required", "Properties", "AdditionalProperties", "Items2020",
	"Location", "ID", "Anchor", "RecursiveAnchor", "DynamicAnchor",
	"Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
}

// isPlain reports whether s has only keywords that newPlainSchema reads, and annotations.
func isPlain(s *jsonschema.Schema) bool {
	for field, value := range reflect.ValueOf(*s).Fields() {
		if field.IsExported() && !value.IsZero() && !slices.Contains(plainFields, field.Name) {
			return false
		}
	}
	return s.DraftVersion >= 2020
}

// addFields reads the keywords for objects.
func (p *plainSchema) addFields(s *jsonschema.Schema) bool {
	if more, ok := s.AdditionalProperties.(bool); !ok || more || len(s.Properties) > 64 {
		return false
	}
	p.fields = make(map[string]int, len(s.Properties))
	for name, schema := range s.Properties {
		field := newPlainSchema(schema)
		if field == nil {
			return false
		}
		p.fields[name] = len(p.schemas)
		p.schemas = append(p.schemas, field)
	}
	for _, name := range s.Required {
		i, ok := p.fields[name]
		if !ok {
			return false
		}
		p.required |= 1 << i
	}
	return true
}

// accepts reports whether the text is certainly JSON that fits, within the limits of parse.
func (p *plainSchema) accepts(text []byte) bool {
	if p == nil {
		return false
	}
	var r parser
	r.Begin(text, maxDepth)
	return r.fits(p) && r.End()
}

// fits skips a value and reports whether it fits.
func (p *parser) fits(s *plainSchema) bool {
	c := p.begin()
	switch {
	case c == 'f':
		c = 't'
	case c == '-' || c >= '0' && c <= '9':
		c = '0'
	}
	if strings.IndexByte(s.kinds, c) < 0 {
		return false
	}
	switch c {
	case '{':
		return p.fitsObject(s)
	case '[':
		for more := p.Open('['); more; more = p.More(']') {
			if !p.fits(s.items) {
				return false
			}
		}
	case '0':
		n := p.number()
		return !s.integer || !bytes.ContainsAny(n, ".eE")
	default:
		p.Skip()
	}
	return true
}

func (p *parser) fitsObject(s *plainSchema) bool {
	var seen uint64
	for more := p.Open('{'); more; more = p.More('}') {
		i, ok := s.fields[string(p.Name())]
		if !ok || seen&(1<<i) != 0 || !p.fits(s.schemas[i]) {
			return false
		}
		seen |= 1 << i
	}
	return seen&s.required == s.required
}
