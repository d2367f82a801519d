package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/tools"
)

// Models that were trained on strict schemas write null for what they leave out.
func TestSchema_Arguments(t *testing.T) {
	schema, err := tools.CompileSchema(json.RawMessage(`{"type":"object","required":["path","must"],"properties":{
		"path":{"type":"string"},"must":{"type":["null","string"]},"maybe":{"type":["null","string"]},
		"at":{"type":"integer"},"mode":{"enum":["r","w"]},"either":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},
		"in":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/n"}}},
		"list":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}}}}},
		"additionalProperties":false,"minProperties":2,"$defs":{"n":{"type":"number"}}}`))
	require.NoError(t, err)
	for given, want := range map[string]string{
		` {"path":"a", "must":null,"maybe":null} `:                                        ` {"path":"a", "must":null,"maybe":null} `, // it fits, and stays as it was written
		`{"path":"a","must":null,"at":null,"mode":null,"either":null,"maybe":null}`:       `{"maybe":null,"must":null,"path":"a"}`,
		`{"path":"a","must":"<","in":{"a":1e2,"b":null}}`:                                 `{"in":{"a":1e2},"must":"<","path":"a"}`,
		`{"path":"a","must":"","in":null,"list":[{"b":null},{"b":12345678901234567890}]}`: `{"list":[{},{"b":12345678901234567890}],"must":"","path":"a"}`,
	} {
		got, err := schema.Arguments(given)
		require.NoError(t, err, given)
		require.Equal(t, want, got)
		require.NoError(t, schema.Check(got))
		if got != given {
			require.Error(t, schema.Check(given), "any other text has to fit as it is")
		}
	}
	for given, problem := range map[string]string{
		`{"path":null,"must":""}`:                 "/path: got null, want string",
		`{"path":"a","must":"","in":{"a":null}}`:  "/in/a: got null, want integer",
		`{"path":"a","must":"","list":[null]}`:    "/list/0: got null, want object",
		`{"path":"a","must":"","none":null}`:      `unknown "none"`,
		`{"path":"a","must":"","at":null,"in":5}`: "/at: got null, want integer\n- /in: got number, want object",
		`{"at":null`: "not JSON",
		``:           `missing "must", "path"`,
		` null `:     `missing "must", "path"`,
		`{"path":"a","must":"","at":null,"at":null}`: `"at" stands twice in an object`,
	} {
		got, err := schema.Arguments(given)
		require.ErrorContains(t, err, problem, given)
		require.ErrorAs(t, err, new(*tools.SchemaError))
		require.Empty(t, got)
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the call is over"))
	_, err = schema.ArgumentsContext(over, `{"path":"a","must":"","at":null}`)
	require.EqualError(t, err, "the call is over")
}

func FuzzSchema_Arguments(f *testing.F) {
	for _, seed := range []string{`{"a":[{"a":{"b":1}}],"b":null}`, `{"a":[{"c":1}],"a1":null,"b":1}`, `{"a":{"x":[null]},"b":[]}`, `[{"a":null}]`, `{"n":{"n":null}}`} {
		f.Add(seed)
	}
	schema, err := tools.CompileSchema(json.RawMessage(`{"propertyNames":{"pattern":"^[abn]"},"properties":{"n":{"$ref":"#","required":["n"]}},"required":[],
		"items":{"$ref":"#"},"additionalProperties":{"anyOf":[{"$ref":"#","type":["object","array"]},{"type":"integer"}]}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := schema.Arguments(text)
		if err == nil {
			require.NoError(t, schema.Check(got))
		} else {
			require.Error(t, schema.Check(text))
		}
	})
}

// What a schema neither requires nor accepts as null is left out, at any level, and nothing else.
func TestSchema_Arguments_leavesOutNulls(t *testing.T) {
	var node func(t *rapid.T, levels int) (schema, given, want any)
	node = func(t *rapid.T, levels int) (schema, given, want any) {
		if levels == 0 || rapid.Bool().Draw(t, "leaf") {
			return map[string]any{"type": "integer"}, 1.0, 1.0
		}
		properties, required, have, left := map[string]any{}, []any{}, map[string]any{}, map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c~/", "d"}), 0, 4, rapid.ID).Draw(t, "names") {
			schema, given, want := node(t, levels-1)
			properties[name] = schema
			switch rapid.SampledFrom([]string{"there", "required", "null", "nullable"}).Draw(t, "how") {
			case "there":
				have[name], left[name] = given, want
			case "required":
				required, have[name], left[name] = append(required, name), given, want
			case "null":
				have[name] = nil
			case "nullable":
				properties[name], have[name], left[name] = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}, nil, nil
			}
		}
		object := map[string]any{"type": "object", "properties": properties, "required": required}
		return map[string]any{"type": "array", "items": object}, []any{have, have}, []any{left, left}
	}
	rapid.Check(t, func(t *rapid.T) {
		schema, given, want := node(t, 4)
		compiled, err := tools.CompileSchema(asJSON(t, schema))
		require.NoError(t, err)
		got, err := compiled.Arguments(string(asJSON(t, given)))
		require.NoError(t, err)
		require.JSONEq(t, string(asJSON(t, want)), got)
	})
}

func asJSON(t *rapid.T, v any) json.RawMessage {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

func TestNew_nullIsLeftOut(t *testing.T) {
	var ran int
	text, err := readTool(&ran).Call(t.Context(), `{"path":"a","lines":null}`)
	require.NoError(t, err)
	require.Equal(t, "a []", text)
	_, err = readTool(&ran).Call(t.Context(), `{"path":null,"lines":null}`)
	require.EqualError(t, err, "tools: invalid arguments for read_file:\n- /lines: got null, want array\n- /path: got null, want string")
}
