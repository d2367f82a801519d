package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools"
)

func named(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name, Description: name}, func(context.Context, string) (string, error) { return name, nil })
}

func TestSet(t *testing.T) {
	c, a, b := named("c"), named("a"), named("b")
	set, err := tools.NewSet(c, a, b)
	require.NoError(t, err)
	require.Len(t, set.Definitions(), 3)
	require.Equal(t, []string{"a", "b", "c"}, set.Names())

	defs := set.Definitions()
	require.Equal(t, []tools.Definition{c.Definition(), a.Definition(), b.Definition()}, defs)
	_ = append(defs, tools.Definition{Name: "mine"})
	require.Len(t, set.Definitions(), 3)
	require.Len(t, defs, cap(defs), "who appends writes elsewhere")

	got, ok := set.Lookup("a")
	require.True(t, ok)
	require.Same(t, a, got)
	_, ok = set.Lookup("d")
	require.False(t, ok)
}

func TestEmptySets(t *testing.T) {
	made, err := tools.NewSet()
	require.NoError(t, err)
	for _, set := range []*tools.Set{nil, made} {
		_, ok := set.Lookup("a")
		require.False(t, ok)
		require.Empty(t, set.Names())
		require.Empty(t, set.Definitions())
		require.Empty(t, set.Definitions())
	}
}

type wrapper struct{ tools.Tool }

func (w wrapper) Unwrap() tools.Tool { return w.Tool }

type unsure struct{ tools.Tool }

func (unsure) Check() error { return errors.New("not sure") }

func TestNewSetErrors(t *testing.T) {
	_, err := tools.NewSet(named("a"), named("b"), named("a"))
	require.EqualError(t, err, `tools: tools 0 and 2 have the same name, "a": rename one`)

	for _, name := range []string{"", "a b", "é", "a.b", strings.Repeat("a", 65), "a\n"} {
		_, err := tools.NewSet(named(name))
		require.ErrorContains(t, err, "a name is 1 to 64 of letters")
	}
	_, err = tools.NewSet(named(strings.Repeat("a", 64)), named("A-b_9"))
	require.NoError(t, err)

	withSchema := func(s string) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: "x", Parameters: json.RawMessage(s)}, noop)
	}
	for schema, want := range map[string]string{
		`{"type":"array"}`:                  `"type":"object"`,
		`{}`:                                `"type":"object"`,
		`true`:                              "not a JSON object",
		`x`:                                 "not a JSON object",
		`{"type":"object","properties":[]}`: "schema",
		`{"type":"object","$ref":"x.json"}`: "another document",
		`{"type":["object"]}`:               `"type":"object"`,
	} {
		_, err := tools.NewSet(withSchema(schema))
		require.ErrorContains(t, err, want, schema)
	}
	_, err = tools.NewSet(withSchema(`{"type":"object","properties":{"a":{"type":"string"}}}`))
	require.NoError(t, err)
}

func TestNewSetNamesEveryTool(t *testing.T) {
	broken := tools.New(tools.Definition{Name: "broken"}, func(context.Context, int) (int, error) { return 0, nil })
	_, err := tools.NewSet(nil, named(""), wrapper{broken}, unsure{named("unsure")}, named("a"), named("a"))
	for _, want := range []string{`"#0": nil`, `""`, `"broken"`, `"unsure": not sure`, "tools 4 and 5"} {
		require.ErrorContains(t, err, want)
	}
}
