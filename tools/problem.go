package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/segue-go/segue/internal/textcut"
)

// Problem is one error in a JSON text: its place, as a JSON pointer (RFC 6901; "" is the whole
// text), and its description. The description quotes shortened names, but no values.
type Problem struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// ArgumentError reports everything that is wrong with the arguments of a call. Its text is written
// for the model and has at most eleven short lines.
type ArgumentError struct {
	Tool     string // the tool's name
	Problems []Problem
}

// Error lists the problems.
func (e *ArgumentError) Error() string {
	return "tools: invalid arguments for " + e.Tool + list(e.Problems)
}

// SchemaError reports everything that is wrong with a JSON text that must fit a [Schema].
type SchemaError struct{ Problems []Problem }

// Error lists the problems, in the form of [ArgumentError.Error].
func (e *SchemaError) Error() string {
	return "tools: the JSON does not fit the schema" + list(e.Problems)
}

// list writes one problem as the end of a line, and several as lines.
func list(problems []Problem) string {
	const most = 10
	if len(problems) == 1 {
		return ": " + problems[0].line()
	}
	var b strings.Builder
	b.WriteByte(':')
	for _, p := range problems[:min(most, len(problems))] {
		b.WriteString("\n- " + p.line())
	}
	if more := len(problems) - most; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

func (p Problem) line() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// problems flattens an error of the validator, in the order of pointers.
func problems(err *jsonschema.ValidationError) []Problem {
	var found []Problem
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		if message := describe(e.ErrorKind); message != "" {
			found = append(found, Problem{Pointer: pointer(e.InstanceLocation), Message: textcut.Short(message, 200)})
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	visit(err)
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(found)
}

// pointer joins the tokens of a JSON pointer. It shortens long tokens, which come from a model.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		t = strings.ReplaceAll(strings.ReplaceAll(textcut.Short(t, 40), "~", "~0"), "/", "~1")
		b.WriteString("/" + strings.Trim(fmt.Sprintf("%q", t), `"`))
	}
	return textcut.Short(b.String(), 200)
}

// describe describes an error without the wrong value. It returns "" for a kind whose causes
// describe it.
func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return ""
	case *kind.Type:
		return "got " + k.Got + ", want " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return "missing " + quoted(k.Missing)
	case *kind.AdditionalProperties:
		return "unknown " + quoted(k.Properties)
	case *kind.FalseSchema:
		return "not allowed here"
	case *kind.Enum:
		return "must be one of " + values(k.Want)
	case *kind.Const:
		return "must be " + values([]any{k.Want})
	case *kind.AnyOf, *kind.OneOf:
		return describeChoice(k)
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.PropertyNames:
		return "the name " + brief(k.Property) + " is not allowed"
	case *kind.Dependency:
		return "missing " + quoted(k.Missing) + ", needed with " + brief(k.Prop)
	case *kind.DependentRequired:
		return "missing " + quoted(k.Missing) + ", needed with " + brief(k.Prop)
	default:
		return describeBound(k)
	}
}

func describeChoice(k jsonschema.ErrorKind) string {
	if one, ok := k.(*kind.OneOf); ok && len(one.Subschemas) > 0 {
		return "fits more than one of the forms allowed"
	}
	return "fits none of the forms allowed"
}

func describeBound(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString()
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters, want at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters, want at most %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, want at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, want at most %d", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d properties, want at least %d", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d properties, want at most %d", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	default:
		return "breaks the rule " + strings.Join(k.KeywordPath(), "/")
	}
}

// quoted lists names, some of which come from a model.
func quoted(names []string) string {
	const most = 10
	slices.Sort(names)
	out := make([]string, 0, most+1)
	for i, n := range names {
		if i == most {
			out = append(out, "…")
			break
		}
		out = append(out, brief(n))
	}
	return strings.Join(out, ", ")
}

// values lists values of the schema.
func values(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			out[i] = fmt.Sprintf("%q", v)
		case nil:
			out[i] = "null"
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(out, ", ")
}
