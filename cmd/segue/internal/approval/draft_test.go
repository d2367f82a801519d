package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/tools"
)

// The texts of a file can be read in a draft, and other calls are JSON on several lines.
func TestDraft(t *testing.T) {
	d := newDraft(workfolder.WriteFile, `{"path":"a.go","content":"package a\n\n\tvar x = 1 < 2\n"}`)
	require.Equal(t, ".yaml", d.kind)
	require.Equal(t, aboutYAML+"path: a.go\ncontent: |\n  package a\n\n  \tvar x = 1 < 2\n", d.text)
	d.text = strings.Replace(d.text, "1 < 2", "\"é\" <> nil", 1)
	got, err := d.arguments()
	require.NoError(t, err)
	require.Equal(t, `{"path":"a.go","content":"package a\n\n\tvar x = \"é\" <> nil\n"}`, got)

	d = newDraft("deploy", `{"to":"prod","n":1.50,"deep":{"a":[1,2]}}`)
	require.Equal(t, ".json", d.kind)
	require.Equal(t, "{\n  \"to\": \"prod\",\n  \"n\": 1.50,\n  \"deep\": {\n    \"a\": [\n      1,\n      2\n    ]\n  }\n}\n", d.text)
	got, err = d.arguments()
	require.NoError(t, err)
	require.Equal(t, `{"to":"prod","n":1.50,"deep":{"a":[1,2]}}`, got)
	require.Equal(t, "cut off", newDraft("deploy", "cut off").text)
}

func TestDraft_problems(t *testing.T) {
	for want, d := range map[string]draft{
		"it is not YAML":      {"path: [", ".yaml"},
		"it is not JSON":      {`{"a":`, ".json"},
		"it is not an object": {"[1]", ".json"},
	} {
		_, err := d.arguments()
		require.ErrorContains(t, err, want)
	}
}

// What need not be there may be null in a changed call, as in one of the model.
func TestChanged_null(t *testing.T) {
	list := []tools.Definition{{Name: "deploy", Parameters: json.RawMessage(`{"type":"object","required":["to"],"properties":{"to":{"type":"string"},"n":{"type":"integer"}}}`)}}
	got, err := Changed(list, "deploy", `{"to":"prod", "n":null}`)
	require.NoError(t, err)
	require.Equal(t, `{"to":"prod","n":null}`, got)
	_, err = Changed(list, "deploy", `{"to":null}`)
	require.ErrorContains(t, err, "deploy cannot take it: ")
}

// A draft that nobody changes is the call as it was, whatever its texts are.
func TestDraft_unchanged(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"\n", "\r\n", " ", "\t", "- a", "#", "|", "a: b", "'", `"`, "---", "\u202e", "\x00", "é", "no", "1", "~", "...", "{", "&x", "\u2028"}), rapid.String())
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		arguments, err := json.Marshal(map[string]string{"path": text.Draw(t, "path"), "old": text.Draw(t, "old"), "new": text.Draw(t, "new")})
		require.NoError(t, err)
		got, err := newDraft(workfolder.EditFile, string(arguments)).arguments()
		require.NoError(t, err)
		require.Equal(t, jsonform.Canonical(string(arguments)), jsonform.Canonical(got))
	})
}
