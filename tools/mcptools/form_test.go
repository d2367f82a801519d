package mcptools

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/tools"
)

func formOf(t *testing.T, p *mcp.ElicitParams) *form {
	t.Helper()
	f, err := newForm(p, Limits{Schema: defaultSchema})
	require.NoError(t, err)
	return f
}

func fields(properties map[string]any, required ...string) map[string]any {
	schema := map[string]any{"type": "object", "properties": properties, "required": required}
	if required == nil {
		schema["required"] = nil // as some servers write it
	}
	return schema
}

// The question says what each field is, so that a person can answer without the schema.
func TestForm_question(t *testing.T) {
	f := formOf(t, &mcp.ElicitParams{Message: "Who are you?\x1b[2J", RequestedSchema: fields(map[string]any{
		"name":  map[string]any{"type": "string", "title": "Name", "description": "As in the passport."},
		"age":   map[string]any{"type": "integer"},
		"color": map[string]any{"type": "string", "enum": []any{"red", "blue"}},
	}, "name", "color")})
	q := f.question("s", "visit", 2, "")
	require.Equal(t, `The server "s" asks, for a call of visit: Who are you?[2J (question 2 of this call)
Answer with a JSON object of these fields:
- age (integer, optional)
- color (string); one of red, blue
- name (string): Name: As in the passport.`, q.Text)
	require.Empty(t, q.Options)

	require.Equal(t, []string{"yes", "no"}, formOf(t, &mcp.ElicitParams{RequestedSchema: fields(map[string]any{"ok": map[string]any{"type": "boolean"}})}).question("s", "t", 1, "").Options)
	require.Equal(t, []string{"accept", "decline"}, formOf(t, &mcp.ElicitParams{Message: "Sure?"}).question("s", "t", 1, "").Options)
	visit := formOf(t, &mcp.ElicitParams{Mode: "url", Message: "Sign in.", URL: "https://example.com/in"}).question("s", "t", 1, "say something else")
	require.Equal(t, `The server "s" asks, for a call of t: Sign in.
The last answer did not fit: say something else
Visit https://example.com/in if you trust that address, and answer "accept" when you are done, or "decline".`, visit.Text)
}

func TestForm_answer(t *testing.T) {
	one := func(schema map[string]any) any { return fields(map[string]any{"x": schema}, "x") }
	accepted := func(v any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"x": v}}
	}
	word := map[string]any{"type": "string"}
	for name, c := range map[string]struct {
		schema  any
		text    string
		want    *mcp.ElicitResult
		problem string
	}{
		"plain text":            {schema: one(word), text: " Ada ", want: accepted("Ada")},
		"the same as JSON":      {schema: one(word), text: `{"x":"Ada"}`, want: accepted("Ada")},
		"text that begins so":   {schema: one(word), text: `{x}`, want: accepted("{x}")},
		"a number":              {schema: one(map[string]any{"type": "number"}), text: "1.5", want: accepted(1.5)},
		"not a number":          {schema: one(map[string]any{"type": "integer"}), text: "much", problem: "/x got string, want integer"},
		"a boolean":             {schema: one(map[string]any{"type": "boolean"}), text: "No", want: accepted(false)},
		"one of them":           {schema: one(map[string]any{"type": "string", "enum": []any{"a", "b"}}), text: "c", problem: `/x must be one of "a", "b"`},
		"several fields":        {schema: fields(map[string]any{"x": word, "y": word}), text: `{"x":"Ada"}`, want: accepted("Ada")},
		"several, not as JSON":  {schema: fields(map[string]any{"x": word, "y": word}), text: "Ada", problem: "not valid JSON"},
		"no fields":             {text: "Accept", want: &mcp.ElicitResult{Action: "accept"}},
		"no fields, declined":   {text: "no", want: &mcp.ElicitResult{Action: "decline"}},
		"no fields, unreadable": {text: "perhaps", problem: `answer "accept" or "decline"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := formOf(t, &mcp.ElicitParams{RequestedSchema: c.schema}).answer(tools.Answer{Text: c.text})
			if c.problem != "" {
				require.Nil(t, got)
				require.NotEmpty(t, problem)
				if name != "several, not as JSON" {
					require.Equal(t, c.problem, problem)
				}
				return
			}
			require.Empty(t, problem)
			require.Equal(t, c.want, got)
		})
	}
	f := formOf(t, &mcp.ElicitParams{RequestedSchema: one(word)})
	got, _ := f.answer(tools.Answer{Err: &tools.DeclinedError{}})
	require.Equal(t, "decline", got.Action)
	got, _ = f.answer(tools.Answer{Err: errors.New("nobody answered in time")})
	require.Equal(t, "cancel", got.Action)
}

// What a server may not ask is refused before anybody is asked.
func TestForm_refused(t *testing.T) {
	for want, p := range map[string]*mcp.ElicitParams{
		"too long or has control characters": {Mode: "url", URL: "https://example.com/\n" + strings.Repeat("a", 10)},
		"a form that is too large":           {RequestedSchema: fields(map[string]any{strings.Repeat("a", 500): map[string]any{}})},
		"a form whose schema is invalid":     {RequestedSchema: map[string]any{"type": 7}},
		"whose schema is not one of an":      {RequestedSchema: map[string]any{"type": "array"}},
	} {
		_, err := newForm(p, Limits{Schema: 400})
		require.ErrorContains(t, err, want)
	}
}
