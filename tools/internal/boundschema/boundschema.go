// Package boundschema compiles JSON Schemas of strangers, and checks values against them, so that
// neither holds a CPU for long.
package boundschema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxDepth bounds the lists and objects within each other in a schema: the time to compile it grows
// with the cube of their number.
const maxDepth = 128

// maxPatterns bounds the parts of all patterns together, each as often as it is repeated: the time
// to compile the patterns, and to look at a text with them, grows with the number of parts.
const maxPatterns = 100_000

// maxWork bounds the work of a check: how often it looks at a value with a part of the schema, and
// compares it with a value there. References make a short schema look as often as they like.
const maxWork = 600_000

// ErrWork is the error of a check that was too much work, or whose context ended meanwhile.
var ErrWork = errors.New("is too much work to check against the schema")

// Compile compiles a schema, which may not refer to other documents.
func Compile(doc any, c *jsonschema.Compiler) (*jsonschema.Schema, error) {
	const address = "schema:///own"
	if isDeeper(doc, maxDepth) {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxDepth)
	}
	c.UseLoader(noDocuments{})
	left := 2 * maxPatterns               // each is compiled twice: to see whether it is one
	defer func() { left = math.MaxInt }() // a format compiles texts that are checked, too
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil, err
		}
		if left -= parts(tree); left < 0 {
			return nil, fmt.Errorf("the patterns have more than %d parts", maxPatterns)
		}
		return regexp.Compile(text)
	})
	if err := c.AddResource(address, doc); err != nil {
		return nil, err
	}
	return c.Compile(address)
}

// parts returns how many parts a pattern has, each as often as it is repeated.
func parts(tree *syntax.Regexp) int {
	n := max(1, len(tree.Rune))
	for _, sub := range tree.Sub {
		n += parts(sub)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min, tree.Max, 1)
	}
	return n
}

// noDocuments keeps a schema from reading files.
type noDocuments struct{}

func (noDocuments) Load(url string) (any, error) {
	return nil, fmt.Errorf("refers to another document, %s", url)
}

// isDeeper reports whether a JSON value has more levels.
func isDeeper(v any, levels int) bool {
	var parts []any
	switch v := v.(type) {
	case map[string]any:
		parts = slices.Collect(maps.Values(v))
	case []any:
		parts = v
	default:
		return false
	}
	return levels == 0 || slices.ContainsFunc(parts, func(v any) bool { return isDeeper(v, levels-1) })
}

// Schema is a compiled schema whose work is counted. It is safe for concurrent use: one check after
// the other is made.
type Schema struct {
	schema *jsonschema.Schema
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // of the check
	left   int
	each   int // work for each item of a list and each member of an object
}

// Watch counts the work of a schema from now on. The schema is changed: only the result may check
// values.
func Watch(schema *jsonschema.Schema) *Schema {
	s := &Schema{schema: schema, each: 1}
	s.watch(reflect.ValueOf(schema), map[*jsonschema.Schema]bool{})
	return s
}

// Validate checks a value. The error is ErrWork if that was not done.
func (s *Schema) Validate(ctx context.Context, v any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.left = ctx, maxWork
	defer func() {
		if p := recover(); p == ErrWork { //nolint:errorlint // the same value
			err = ErrWork
		} else if p != nil {
			panic(p)
		}
	}()
	return s.schema.Validate(v)
}

// watch watches all schemas that a value of Go holds.
func (s *Schema) watch(v reflect.Value, seen map[*jsonschema.Schema]bool) {
	switch v.Kind() { //nolint:exhaustive // the others hold no schemas
	case reflect.Interface:
		s.watch(v.Elem(), seen)
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*jsonschema.Schema]() {
			part := (*jsonschema.Schema)(v.UnsafePointer())
			if v.IsNil() || seen[part] {
				return
			}
			seen[part] = true
			part.Format = s.watched(part)
			if part.Enum != nil { // is compared with before the validator asks for a format
				s.each = max(s.each, len(part.Enum.Values)/10)
			}
		}
		s.watch(v.Elem(), seen)
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() || field.Name == "resource" || field.Name == "dynamicAnchors" {
				s.watch(value, seen)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.watch(v.Index(i), seen)
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			s.watch(entry.Value(), seen)
		}
	}
}

// watched returns the format of a part, which counts: the validator asks for it before it looks at
// the parts of that part.
func (s *Schema) watched(part *jsonschema.Schema) *jsonschema.Format {
	f, own := part.Format, 1+len(part.AllOf)+len(part.AnyOf)+len(part.OneOf)
	if f == nil {
		f = &jsonschema.Format{Validate: func(any) error { return nil }}
	}
	return &jsonschema.Format{Name: f.Name, Validate: func(v any) error {
		list, _ := v.([]any)
		members, _ := v.(map[string]any)
		if s.left -= own + s.each*(len(list)+len(members)); s.left < 0 || s.ctx.Err() != nil {
			panic(ErrWork)
		}
		return f.Validate(v)
	}}
}
