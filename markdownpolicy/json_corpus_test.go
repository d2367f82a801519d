package markdownpolicy_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
)

// jsonCorpus reads a file of the corpus, which holds a JSON value on each line.
func jsonCorpus[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpus of recorded texts is not at ../shared/corpus, beside the repository: " + name)
	}
	require.NoError(t, err)
	var rows []T
	for line := range strings.Lines(string(data)) {
		var row T
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		rows = append(rows, row)
	}
	return rows
}

func TestS2_8_ModeErrorReadsTheJSONTestSuite(t *testing.T) {
	type row struct{ Name, Text, Base64 string }
	for _, r := range jsonCorpus[row](t, "json/jsontestsuite.jsonl") {
		text := r.Text
		if r.Base64 != "" {
			raw, err := base64.StdEncoding.DecodeString(r.Base64)
			require.NoError(t, err)
			text = string(raw)
		}
		object, repairs, err := markdownpolicy.ReadObject(`{"v":`+text+"\n}", 0, markdownpolicy.ModeError)
		require.Empty(t, repairs)
		switch {
		case strings.HasPrefix(r.Name, "y_"):
			require.Nil(t, err, r.Name)
			require.True(t, json.Valid([]byte(object)), r.Name)
		case strings.HasPrefix(r.Name, "n_"):
			require.NotNil(t, err, r.Name)
		}
		fixed, _, ok := jsonrepair.Repair(text)
		require.True(t, !ok || json.Valid([]byte(fixed)), r.Name)
		if !ok {
			require.False(t, json.Valid([]byte(text)), r.Name)
		}
	}
}

func TestS2_8_LangChainJSON(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", "cases", "langchain-json.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpus of recorded texts is not at ../shared/corpus, beside the repository")
	}
	require.NoError(t, err)
	var cases struct {
		Partial [][2]string `json:"TEST_CASES_PARTIAL"`
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	same := 0
	for _, c := range cases.Partial { // all except the first end within a string, which may continue
		fixed, _, ok := jsonrepair.Repair(c[0])
		if ok {
			require.JSONEq(t, c[1], fixed)
			same++
		}
	}
	require.Equal(t, 1, same)

	var texts map[string]any
	require.NoError(t, json.Unmarshal(data, &texts))
	found := 0
	for name, text := range texts {
		reply, ok := text.(string)
		if !ok {
			continue
		}
		object, ok := markdownpolicy.FindObject(reply)
		if strings.Contains(name, "UNESCAPED_QUOTES") {
			require.JSONEq(t, `{"foo": "bar", "bar": "foo"}`, object, "what stands within the quotes is an object, and what is around them is none")
			continue
		}
		require.True(t, ok, name)
		require.True(t, json.Valid([]byte(object)), name)
		found++
	}
	require.Greater(t, found, 5)
}
