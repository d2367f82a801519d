package markdownpolicy_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

// reactCorpus reads the lines of a file of the corpus.
func reactCorpus[T any](t *testing.T, path ...string) (lines []T) {
	t.Helper()
	file, err := os.Open(filepath.Join(append([]string{"..", "..", "shared", "corpus"}, path...)...))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpus of recorded texts is not at ../shared/corpus, beside the repository")
	}
	require.NoError(t, err)
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var line T
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &line))
		lines = append(lines, line)
	}
	require.NoError(t, scanner.Err())
	return lines
}

type recordedText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func TestReActRecorded(t *testing.T) {
	for file, want := range map[string]map[string]int{
		"react-recorded.jsonl":          {"action": 27, "answer": 123, "error": 2},
		"react-numbered-recorded.jsonl": {"action": 56, "answer": 24},
	} {
		t.Run(file, func(t *testing.T) {
			got := map[string]int{}
			for i, line := range reactCorpus[recordedText](t, "text", file) {
				got[readReAct(t, i, line.Text)]++
			}
			require.Equal(t, want, got)
		})
	}
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
	checkReActPieces(t, p, text, func(rest int) int { return min(rest, 1+i%7) })
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
	texts := map[string]string{}
	for _, line := range reactCorpus[recordedText](t, "text", "react-recorded.jsonl") {
		texts[line.ID] = line.Text
	}
	for i, line := range reactCorpus[recordedText](t, "text", "react-numbered-recorded.jsonl") {
		texts[fmt.Sprintf("numbered-%03d", i)] = line.Text
	}
	judged, err := os.ReadFile(filepath.Join("testdata", "react-judged.txt"))
	require.NoError(t, err)
	count := 0
	for line := range strings.Lines(string(judged)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		require.GreaterOrEqual(t, len(fields), 4, line)
		turn, _ := markdownpolicy.ReAct{}.ParseTurn(texts[fields[0]])
		require.Equal(t, []string{turnKind(turn), turnSum(turn)}, fields[1:3], fields[0])
		count++
	}
	require.Equal(t, 60, count)
}

// reactDisagreements are LangChain's test cases for which we return another result, by number, with
// the reason.
var reactDisagreements = map[int]string{
	2:  "they refuse a tool called \"search Final Answer:\"; here it is a tool that there is not, which the model is told",
	3:  "a JSON object without an Action line is another format of theirs; here an action is missing",
	5:  "as 3; without any keyword it is the answer",
	6:  "as 5",
	7:  "tags are another format of theirs (here the policy XML); without any keyword it is the answer",
	8:  "as 7",
	9:  "as 7",
	10: "as 7",
	15: "they leave an object as text that stands right behind ```json; here it is read",
}

func TestReActLangChainAgents(t *testing.T) {
	type langChain struct {
		ID     string `json:"id"`
		Input  string `json:"input"`
		Checks []struct {
			On     string `json:"on"`
			Value  any    `json:"value"`
			Raises bool   `json:"raises"`
		} `json:"checks"`
	}
	agreed := 0
	for i, c := range reactCorpus[langChain](t, "cases", "langchain-agents.jsonl") {
		turn, err := markdownpolicy.ReAct{}.ParseTurn(c.Input)
		agrees := true
		for _, check := range c.Checks {
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
		if agrees {
			agreed++
		}
		require.Equal(t, agrees, reactDisagreements[i] == "", "case %d, %s: %+v, %v", i, c.ID, turn, err)
	}
	require.Equal(t, 8, agreed)
}
