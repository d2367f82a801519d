package llmclient

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/segue-go/segue/tools"
)

// Departure says in what a request does not begin with an earlier one, and returns "" if it does.
// It does if it has the same messages at its beginning, byte for byte in their JSON form, the same
// tools in the same order, as a model sees them, and the same schema. More tools are a departure,
// too: they stand before the messages. A provider that has kept the earlier request need not read
// these parts again.
//
// The model, the choice of a tool and the other fields are not compared: providers differ in what
// these change.
func (r *Request) Departure(earlier *Request) string {
	if a, b := earlier.native(), r.native(); !slices.EqualFunc(a, b, sameTool) {
		if len(b) > len(a) && slices.EqualFunc(a, b[:len(a)], sameTool) {
			return fmt.Sprintf("it offers more tools: %q", namesOf(b[len(a):]))
		}
		return fmt.Sprintf("it offers the tools %q, and the earlier one %q%s", namesOf(b), namesOf(a), inOtherWords(a, b))
	}
	if !sameSchema(earlier.Schema, r.Schema) {
		return "it asks for an answer of another schema"
	}
	n := earlier.Messages.Common(r.Messages)
	switch {
	case n == len(earlier.Messages):
		return ""
	case n == len(r.Messages):
		return fmt.Sprintf("it has %d messages, and the earlier one %d", n, len(earlier.Messages))
	default:
		return fmt.Sprintf("message %d of %d is not as in the earlier one", n+1, len(r.Messages))
	}
}

// native returns the tools that are sent natively.
func (r *Request) native() []tools.Definition {
	if r.ToolFormat == ToolsText {
		return nil
	}
	return r.Tools
}

// sameTool reports whether two tools are the same to a model.
func sameTool(a, b tools.Definition) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}

func namesOf(defs []tools.Definition) []string {
	names := make([]string, len(defs))
	for i := range defs {
		names[i] = defs[i].Name
	}
	return names
}

// inOtherWords says that tools have the same names, and differ nevertheless.
func inOtherWords(a, b []tools.Definition) string {
	if slices.Equal(namesOf(a), namesOf(b)) {
		return ", described otherwise"
	}
	return ""
}

func sameSchema(a, b *Schema) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.Name == b.Name && a.Strict == b.Strict && bytes.Equal(a.Schema, b.Schema)
}
