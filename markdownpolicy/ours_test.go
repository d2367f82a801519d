package markdownpolicy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

// TestS2_14_OurCases runs cases that were written for this test in the form of the other projects'
// cases, which are not part of this repository. Each format occurs at least once, whole and in
// pieces.
func TestS2_14_OurCases(t *testing.T) {
	policies := map[string]markdownpolicy.Policy{
		"fenced": markdownpolicy.Fenced, "hermes": markdownpolicy.Hermes, "mistral": markdownpolicy.Mistral,
		"llama": markdownpolicy.Llama, "pythonic": markdownpolicy.Pythonic, "xml": markdownpolicy.XML,
	}
	data, err := os.ReadFile(filepath.Join("testdata", "cases-ours.jsonl"))
	require.NoError(t, err)
	tried := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var c struct {
			ID, Policy, Text string
			Pieces           []string
			Calls            []struct {
				Name      string
				Arguments any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		require.Contains(t, policies, c.Policy, c.ID)
		tried[c.Policy] = true
		ours := corpusCase{id: c.ID, policy: policies[c.Policy], pieces: c.Pieces, text: c.Text}
		for _, call := range c.Calls {
			ours.calls = append(ours.calls, corpusCall{call.Name, call.Arguments})
		}
		require.Empty(t, disagreement(t, ours), c.ID)
	}
	require.Len(t, tried, len(policies))
}
