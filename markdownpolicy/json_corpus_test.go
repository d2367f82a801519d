package markdownpolicy_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonrepair"
)

func TestS2_8_ModeErrorReadsTheJSONTestSuite(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		type row struct{ Name, Text, Base64 string }
		rows := corpusLines[row](t, c, "json/jsontestsuite.jsonl")
		require.GreaterOrEqual(t, len(rows), 40)
		for _, r := range rows {
			text := r.Text
			if r.Base64 != "" {
				raw, err := base64.StdEncoding.DecodeString(r.Base64)
				require.NoError(t, err)
				text = string(raw)
			}
			readAsJSON(t, r.Name, text)
		}
	})
}

// readAsJSON reads a text that is JSON, or none, as the beginning of its name says: y_ or n_.
func readAsJSON(t *testing.T, name, text string) {
	object, repairs, err := markdownpolicy.ReadObject(`{"v":`+text+"\n}", 0, markdownpolicy.ModeError)
	require.Empty(t, repairs)
	switch {
	case strings.HasPrefix(name, "y_"):
		require.Nil(t, err, name)
		require.True(t, json.Valid([]byte(object)), name)
	case strings.HasPrefix(name, "n_"):
		require.NotNil(t, err, name)
	}
	fixed, _, ok := jsonrepair.Repair(text)
	require.True(t, !ok || json.Valid([]byte(fixed)), name)
	if !ok {
		require.False(t, json.Valid([]byte(text)), name)
	}
}

func TestS2_8_LangChainJSON(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		data := c.read(t, "cases/langchain-json.json")
		var cases struct {
			Partial [][2]string `json:"TEST_CASES_PARTIAL"`
		}
		require.NoError(t, json.Unmarshal(data, &cases))
		same := 0
		for _, partial := range cases.Partial { // all but the first end within a string, which may go on
			fixed, _, ok := jsonrepair.Repair(partial[0])
			if ok {
				require.JSONEq(t, partial[1], fixed)
				same++
			}
		}
		require.Equal(t, 1, same)
		require.Greater(t, len(cases.Partial), 1)
		findObjects(t, data, map[string]string{"ours": `{"train": "IC 3", "platform": 7}`, "others": `{"foo": "bar", "bar": "foo"}`}[c.name])
	})
}

// findObjects looks for an object in each text of a file of LangChain's. In that with quotes that
// are not escaped it is the one within the quotes.
func findObjects(t *testing.T, data []byte, quoted string) {
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
			require.JSONEq(t, quoted, object, "what stands within the quotes is an object, and what is around them is none")
			continue
		}
		require.True(t, ok, name)
		require.True(t, json.Valid([]byte(object)), name)
		found++
	}
	require.Greater(t, found, 5)
}
