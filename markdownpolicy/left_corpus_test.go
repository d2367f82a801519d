package markdownpolicy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

// mayName finds what may be the name of a tool in a text: in JSON, in Python, and between tags.
var mayName = regexp.MustCompile(`"(?:name|function|action|tool)"\s*:\s*"([\w.-]+)"|([\w.]+)\(|<([a-z_]+)>|<function=([\w.-]+)`)

// Of texts that show calls in prose, or answer a request without tools, none becomes a call, even
// if every name in it is the name of a tool that takes anything.
func TestLeftCalls_ofRecordedTexts(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		texts := map[string]string{}
		files, _ := filepath.Glob(filepath.Join(c.dir, "text", "*.jsonl"))
		for _, f := range files {
			for _, l := range corpusLines[struct{ ID, Text string }](t, c, "text/"+filepath.Base(f)) {
				texts[l.ID] = l.Text
			}
		}
		plain, _ := filepath.Glob(filepath.Join(c.dir, "http", "plain", "*.json"))
		for _, f := range plain {
			texts[f] = contentOf(t, f)
		}
		require.NotEmpty(t, texts)
		for id, text := range texts {
			var names []string
			for _, m := range mayName.FindAllStringSubmatch(text, -1) {
				names = append(names, m[1]+m[2]+m[3]+m[4])
			}
			var defs []tools.Definition
			for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
				defs = append(defs, tools.Definition{Name: name})
			}
			got, _ := markdownpolicy.NewLeftCalls(defs).Read(text)
			require.Empty(t, got.Calls, id)
		}
	})
}

// contentOf returns the text of the first reply of a recorded exchange, if it came whole.
func contentOf(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var exchange struct {
		Interactions []struct{ Response struct{ Body string } }
	}
	require.NoError(t, json.Unmarshal(data, &exchange))
	var reply struct {
		Choices []struct{ Message struct{ Content any } }
	}
	if len(exchange.Interactions) == 0 || json.Unmarshal([]byte(exchange.Interactions[0].Response.Body), &reply) != nil || len(reply.Choices) == 0 {
		return ""
	}
	text, _ := reply.Choices[0].Message.Content.(string)
	return text
}
