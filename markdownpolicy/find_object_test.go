package markdownpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

func TestS4_4_ControlJSON(t *testing.T) {
	keys := []string{"finish", "final_answer", "request_input"}
	for _, c := range []struct{ about, text, want string }{
		{"nested, after prose", `I need to know. {"finish":false,"request_input":{"question":"Which file?"}}`, `{"finish":false,"request_input":{"question":"Which file?"}}`},
		{"the last with known keys", `{"finish":false} then {"finish":true} and {"x":1}`, `{"finish":true}`},
		{"braces in strings", `{"finish":true,"final_answer":"use {braces} and \"}\" {"}`, `{"finish":true,"final_answer":"use {braces} and \"}\" {"}`},
		{"fenced", "Done.\n```json\n{\n  \"finish\": true\n}\n```\nBye {x}.", "{\n  \"finish\": true\n}"},
		{"kept as it is written", `{"finish":"true"}`, `{"finish":"true"}`},
		{"braces in prose first", `Use {braces} or {"finish" as you like: {"finish":true}`, `{"finish":true}`},
		{"within what is not closed", `{"plan":[{"finish":true}, oops`, `{"finish":true}`},
		{"a quote that is not closed", `{"note: {"finish":true}`, `{"finish":true}`},
		{"in a list", `[{"finish":true}]`, `{"finish":true}`},
		{"no known keys", `{"foo":1} {"nested":{"finish":true}}`, ``},
		{"not valid", `{"finish":True}`, ``},
		{"an escape that is none", `{"finish":"\q"}`, ``},
		{"none", `no braces`, ``},
		{"empty", ``, ``},
	} {
		object, ok := markdownpolicy.FindObject(c.text, keys...)
		require.Equal(t, c.want, object, c.about)
		require.Equal(t, c.want != "", ok)
	}
	object, ok := markdownpolicy.FindObject(`{"a":1} {"b":{"c":2}}`)
	require.True(t, ok)
	require.Equal(t, `{"b":{"c":2}}`, object, "without keys it is the last")
}

func TestS4_4_RecordedReplies(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		rows := corpusLines[recordedText](t, c, "text/json-in-text-recorded.jsonl")
		require.GreaterOrEqual(t, len(rows), 6)
		for _, r := range rows {
			object, ok := markdownpolicy.FindObject(r.Text)
			require.True(t, ok, "every reply holds an object: %s", r.ID)
			require.True(t, json.Valid([]byte(object)), r.ID)
			if text := strings.TrimSpace(r.Text); json.Valid([]byte(text)) {
				require.Equal(t, text, object, r.ID)
			}
			var last map[string]any // what follows the last brace at the beginning of a line, or behind a colon, must be it
			if i := strings.Index(r.Text, ": {"); i >= 0 && !strings.HasPrefix(strings.TrimSpace(r.Text), "{") && !strings.Contains(r.Text[:i], "{") {
				require.NoError(t, json.NewDecoder(strings.NewReader(r.Text[i+2:])).Decode(&last), r.ID)
				require.True(t, strings.HasPrefix(r.Text[i+2:], object), r.ID)
			}
		}
	})
}

func TestS4_4_FindObjectIsLinear(t *testing.T) {
	if !counts(t) {
		return
	}
	for i, unit := range []string{"{", `{"`, `{"a":`, `{"a":[`, `"{`, `{"k":"{",`, `{"{":"{`, `:{"`, `{"a":"\"{`, "{}", `{"a":1}`, `{" {`, `{"a":{}`, "{ ", `{"a":1e`, `{"a":1111111111`} {
		if isSpared(i) {
			continue
		}
		requireLinear(t, unit, 1<<14, func(text string) { markdownpolicy.FindObject(text, "z") }, "%q", unit)
	}
}

func FuzzFindObject(f *testing.F) {
	for _, seed := range []string{`x {"a":1} y`, `{"a":{"b":[1,"}{"]}}`, `{"note: {"a":true}`, `{"a":"\u12"} {`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object, ok := markdownpolicy.FindObject(text)
		if ok {
			require.True(t, json.Valid([]byte(object)), "%q in %q", object, text)
			require.Contains(t, text, object)
			require.Equal(t, byte('{'), object[0])
		}
		if trimmed := strings.Trim(text, " \n\t\r"); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
			require.Equal(t, trimmed, object)
		}
	})
}
