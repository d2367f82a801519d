package markdownpolicy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

// Values in tags get the type that the schema gives them, wherever it says so.
func TestTypesOfSchemas(t *testing.T) {
	typed := tools.Definition{Name: "typed", Parameters: []byte(`{
		"properties": {
			"one": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
			"all": {"allOf": [{"$ref": "#/$defs/Plan"}]},
			"ref": {"$ref": "#/$defs/Plan"},
			"old": {"$ref": "#/definitions/Size"},
			"any": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "string"}]},
			"enum": {"enum": ["1", "2"]},
			"size": {"enum": [1, 2]},
			"list": {"type": "array"},
			"lost": {"$ref": "#/$defs/Lost"}
		},
		"$defs": {"Plan": {"type": "object"}, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Loop"}]}},
		"definitions": {"Size": {"type": "integer"}}
	}`)}
	o := markdownpolicy.Options{Tools: []tools.Definition{typed}}
	for _, c := range []struct{ key, value, want string }{
		{"one", "3", "3"},
		{"one", "null", "null"},
		{"one", "three", `"three"`},
		{"one", "None", "null"},
		{"any", "None", `"None"`},
		{"all", `{"a": 1}`, `{"a": 1}`},
		{"ref", `{"a": 1}`, `{"a": 1}`},
		{"old", "3", "3"},
		{"old", "{}", `"{}"`},
		{"any", "3", `"3"`},
		{"any", "['a']", `"['a']"`},
		{"enum", "1", `"1"`},
		{"size", "1", "1"},
		{"list", "['a', None, True]", `["a",null,true]`},
		{"list", `[{\"id\": \"1\"}]`, `[{"id": "1"}]`},
		{"list", "['a'", `"['a'"`},
		{"ref", "{'a': 'it\\'s'}", `{"a":"it's"}`},
		{"ref", `{\"a\": 1`, `"{\\\"a\\\": 1"`},
	} {
		want := fmt.Sprintf(`{"%s":%s}`, c.key, c.want)
		for name, p := range map[string]markdownpolicy.Policy{
			"<tool_call><function=typed><parameter=%s>%s</parameter></function></tool_call>": markdownpolicy.Hermes.With(o),
			"<tool_call>typed<arg_key>%s</arg_key><arg_value>%s</arg_value></tool_call>":     markdownpolicy.GLM.With(o),
			"<typed><%[1]s>%[2]s</%[1]s></typed>":                                            markdownpolicy.XML.With(o),
		} {
			doc, err := p.ParseResponse(fmt.Sprintf(name, c.key, c.value))
			require.NoError(t, err)
			require.Len(t, doc.Parts, 1)
			require.Equal(t, parts(callPart("call_1", "typed", want)), doc.Contents(), "%s: %s", c.key, c.value)
		}
	}
	doc, err := markdownpolicy.GLM.With(o).ParseResponse("<tool_call>typed<arg_key>lost</arg_key><arg_value>['a']</arg_value><arg_key>more</arg_key><arg_value>['a']</arg_value></tool_call>")
	require.NoError(t, err)
	require.Equal(t, parts(callPart("call_1", "typed", `{"lost":"['a']","more":"['a']"}`)), doc.Contents())
}

// A schema may come from a stranger: one that refers to itself in many ways takes no more memory
// than others of its size.
func TestTypesOfSchemas_manyReferences(t *testing.T) {
	const loop = `{"$ref": "#/$defs/Loop"}`
	loops := loop + strings.Repeat(", "+loop, 60)
	typed := tools.Definition{Name: "typed", Parameters: []byte(`{"properties": {"a": {"anyOf": [` + loops + `]}}, "$defs": {"Loop": {"oneOf": [` + loops + `]}}}`)}
	p := markdownpolicy.GLM.With(markdownpolicy.Options{Tools: []tools.Definition{typed}})
	var doc markdownpolicy.Document
	allocated := allocatedBy(func() {
		doc, _ = p.ParseResponse("<tool_call>typed<arg_key>a</arg_key><arg_value>[1]</arg_value></tool_call>")
	})
	require.Equal(t, parts(callPart("call_1", "typed", `{"a":"[1]"}`)), doc.Contents())
	require.Less(t, allocated, uint64(100*len(typed.Parameters)))
}
