package markdownpolicy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

type recordedText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// recordedTurns is what the replies of each file of a corpus come to.
var recordedTurns = map[string]map[string]map[string]int{
	"ours": {
		"react-recorded.jsonl":          {"action": 3, "answer": 2, "implicit": 1, "error": 1},
		"react-numbered-recorded.jsonl": {"action": 2, "answer": 1},
	},
	"others": {
		"react-recorded.jsonl":          {"action": 27, "answer": 123, "error": 2},
		"react-numbered-recorded.jsonl": {"action": 56, "answer": 24},
	},
}

func TestReActRecorded(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		for file, want := range recordedTurns[c.name] {
			t.Run(file, func(t *testing.T) {
				got := map[string]int{}
				for i, line := range corpusLines[recordedText](t, c, "text/"+file) {
					got[readReAct(t, i, line.Text)]++
				}
				require.Equal(t, want, got)
			})
		}
	})
}

// readReAct reads a text, whole and in pieces, and returns the kind of its turn.
func readReAct(t *testing.T, i int, text string) string {
	t.Helper()
	p := markdownpolicy.ReAct{}
	turn, err := p.ParseTurn(text)
	if err != nil {
		_, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok, "%d: %v", i, err)
		require.NotEmpty(t, turn.Missing, "%d", i)
	}
	require.Contains(t, text, turn.Kept)
	checkPieces(t, lawful{Policy: p, name: "react"}, text, 1+i%7)
	if turn.Action != nil {
		require.True(t, json.Valid([]byte(turn.Action.Arguments)), "%d", i)
	}
	return turnKind(turn)
}

// TestReActOurs reads texts that were written for this test, in the form of the recorded ones.
func TestReActOurs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "react-ours.jsonl"))
	require.NoError(t, err)
	i := 0
	for line := range strings.Lines(string(data)) {
		var ours struct{ ID, Text, Kind string }
		require.NoError(t, json.Unmarshal([]byte(line), &ours))
		require.Equal(t, ours.Kind, readReAct(t, i, ours.Text), ours.ID)
		i++
	}
	require.GreaterOrEqual(t, i, 8)
}

// turnKind returns the kind of a turn.
func turnKind(turn markdownpolicy.Turn) string {
	switch {
	case turn.Action != nil:
		return "action"
	case turn.Implicit:
		return "implicit"
	case turn.Answer != nil:
		return "answer"
	}
	return "error"
}

// turnSum is a short hash of all that was read.
func turnSum(turn markdownpolicy.Turn) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %t %q", turn.Thought, turn.Invented, turn.Kept)
	if turn.Action != nil {
		fmt.Fprintf(h, " %q %q", turn.Action.Name, turn.Action.Arguments)
	}
	if turn.Answer != nil {
		fmt.Fprintf(h, " %q", *turn.Answer)
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

// Results that were checked by hand must not change unnoticed.
func TestReActJudged(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		texts := map[string]string{}
		for _, line := range corpusLines[recordedText](t, c, "text/react-recorded.jsonl") {
			texts[line.ID] = line.Text
		}
		for i, line := range corpusLines[recordedText](t, c, "text/react-numbered-recorded.jsonl") {
			texts[fmt.Sprintf("numbered-%03d", i)] = line.Text
		}
		count := 0
		for line := range strings.Lines(string(judged(t, c))) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] == "#" {
				continue
			}
			require.GreaterOrEqual(t, len(fields), 4, line)
			turn, _ := markdownpolicy.ReAct{}.ParseTurn(texts[fields[0]])
			require.Equal(t, []string{turnKind(turn), turnSum(turn)}, fields[1:3], fields[0])
			count++
		}
		require.Equal(t, map[string]int{"ours": 10, "others": 60}[c.name], count)
	})
}

// judged is the judgement of the replies of a corpus.
func judged(t *testing.T, c corpus) []byte {
	t.Helper()
	file := map[string]string{"ours": "react-judged-ours.txt", "others": "react-judged.txt"}[c.name]
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	return data
}

// reactDisagreements are the test cases for which we return another result than LangChain, whose
// test cases the others are, by corpus and number, with the reason.
var reactDisagreements = map[string]map[int]string{"ours": nil, "others": {
	2:  "they refuse a tool called \"search Final Answer:\"; here it is a tool that there is not, which the model is told",
	3:  "a JSON object without an Action line is another format of theirs; here an action is missing",
	5:  "as 3; without any keyword it is the answer",
	6:  "as 5",
	7:  "tags are another format of theirs (here the policy XML); without any keyword it is the answer",
	8:  "as 7",
	9:  "as 7",
	10: "as 7",
	15: "they leave an object as text that stands right behind ```json; here it is read",
}}

// langChainCase is a test case of LangChain's.
type langChainCase struct {
	ID     string `json:"id"`
	Input  string `json:"input"`
	Checks []struct {
		On     string `json:"on"`
		Value  any    `json:"value"`
		Raises bool   `json:"raises"`
	} `json:"checks"`
}

func TestReActLangChainAgents(t *testing.T) {
	eachCorpus(t, func(t *testing.T, from corpus) {
		agreed := 0
		for i, c := range corpusLines[langChainCase](t, from, "cases/langchain-agents.jsonl") {
			agrees := c.agrees()
			if agrees {
				agreed++
			}
			require.Equal(t, agrees, reactDisagreements[from.name][i] == "", "case %d, %s", i, c.ID)
		}
		require.Equal(t, map[string]int{"ours": 6, "others": 8}[from.name], agreed)
	})
}

// agrees says whether the text is read as the case expects.
func (c langChainCase) agrees() bool {
	turn, err := markdownpolicy.ReAct{}.ParseTurn(c.Input)
	tool, input, answer := "", "", ""
	if turn.Action != nil {
		tool, input = turn.Action.Name, turn.Action.Arguments
		var text string
		if json.Unmarshal([]byte(input), &text) == nil {
			input = text
		}
	}
	if turn.Answer != nil {
		answer = *turn.Answer
	}
	agrees := true
	for _, check := range c.Checks {
		want, _ := check.Value.(map[string]any)
		switch {
		case check.Raises:
			agrees = agrees && err != nil
		case check.On == "log": // the text that was read
		case check.On == "action":
			agrees = agrees && tool == check.Value
		case check.On == "action_input":
			agrees = agrees && input == check.Value
		case want["_type"] == "AgentAction":
			agrees = agrees && tool == want["tool"] && input == want["tool_input"]
		case want["_type"] == "AgentFinish":
			agrees = agrees && answer == want["return_values"].(map[string]any)["output"]
		default:
			agrees = agrees && answer == strings.TrimSpace(check.Value.(string))
		}
	}
	return agrees
}
