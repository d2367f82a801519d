package markdownpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// reactText draws texts that are difficult for the format.
func reactText() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Answer:", "FINISH", "Action: None", "**Action:**", "Thought 2:",
		"\n", "\n\n", "\r\n", " ", "\t", "\v", "\\", "\\\\", "```", "~~~", "```go\n", "\n```", "\n```\n", "`", "*", "**", "#", "x", "word", "é", "：", "Thought：",
		"{", "}", "[", "]", "\"", "'", ",", "{\"a\":1}", "null", "3", "a: b", "F", "Final", "Final Answer", "A", "T", "\x00", "\xff",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 14).Draw(t, "pieces"), "")
	})
}

const reactBlanks = " \t\r\n\v\f"

func TestReActRoundTrip(t *testing.T) {
	words := rapid.Map(reactText(), func(s string) string { return strings.Trim(s, reactBlanks) }).Filter(func(s string) bool { return s != "" })
	rapid.Check(t, func(t *rapid.T) {
		var parts []messages.AssistantContent
		for _, thought := range rapid.SliceOfN(words, 0, 2).Draw(t, "thoughts") {
			parts = append(parts, messages.Thought{Text: thought})
		}
		if rapid.Bool().Draw(t, "answer") {
			parts = append(parts, messages.Text{Text: words.Draw(t, "text")})
		} else {
			name := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_-]{1,20}`), rapid.SampledFrom([]string{"finish", "None", "FINISH", "Delegate to it", "n-a", "null"})).Draw(t, "name")
			args, err := json.MarshalIndent(map[string]any{words.Draw(t, "key"): strings.ToValidUTF8(words.Draw(t, "value"), "?")}, "", "  ")
			require.NoError(t, err)
			parts = append(parts, messages.ToolCall{ID: "call_1", Name: name, Arguments: string(args)})
		}
		p := markdownpolicy.ReAct{}
		text := p.Render(parts)
		doc, err := p.ParseResponse(text)
		require.NoError(t, err, "%q", text)
		require.Equal(t, parts, doc.Contents(), "%q", text)
		require.Empty(t, doc.Repairs)
	})
}

// merged joins neighbouring pieces of texts and thoughts.
func merged(parts []markdownpolicy.Part) (texts []string) {
	kind := ""
	for _, p := range parts {
		var text, of string
		switch c := p.Content.(type) {
		case messages.Text:
			text, of = c.Text, "text"
		case messages.Thought:
			text, of = c.Text, "thought"
		case messages.ToolCall:
			text, of = c.Name+"\x00"+c.Arguments, "call"
		}
		if of != kind || of == "call" {
			texts = append(texts, of+": ")
		}
		kind = of
		texts[len(texts)-1] += text
	}
	return texts
}

func checkReActPieces(t require.TestingT, p markdownpolicy.ReAct, text string, cut func(rest int) int) {
	whole, wholeErr := p.ParseResponse(text)
	parser := p.NewParser()
	var released []markdownpolicy.Part
	for rest := text; rest != ""; {
		n := cut(len(rest))
		released = append(released, parser.Write(rest[:n])...)
		rest = rest[n:]
	}
	doc, rest, err := parser.Close()
	require.Equal(t, wholeErr, err, "%q", text)
	require.Equal(t, whole, doc, "%q", text)
	require.Equal(t, merged(whole.Parts), merged(append(released, rest...)), "%q", text)
	end := 0
	for _, part := range doc.Parts {
		require.True(t, end <= part.Start && part.Start <= part.End && part.End <= len(text), "%q %+v", text, doc.Parts)
		end = part.End
	}
}

func TestReActPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Tools: reactTools, Mode: rapid.SampledFrom([]markdownpolicy.Mode{"", "text", "repair"}).Draw(t, "mode")}}
		text := rapid.SampledFrom([]string{"", "Thought: ", "```\nAction: ", "Action: x\nAction Input: ", "Final Answer: "}).Draw(t, "prefix") + reactText().Draw(t, "text")
		most := rapid.IntRange(1, 7).Draw(t, "most")
		checkReActPieces(t, p, text, func(rest int) int { return rapid.IntRange(1, min(most, rest)).Draw(t, "n") })
	})
}

func TestReActReleasesWhatIsCertain(t *testing.T) {
	parser := markdownpolicy.ReAct{}.NewParser()
	require.Empty(t, parser.Write("Thought"))
	require.Equal(t, []string{"thought: I think hard, as"}, merged(parser.Write(": I think hard, as one expects")), "the end may be one of an answer")
	require.Equal(t, []string{"thought:  one expects."}, merged(parser.Write(".\nFinal Ans")))
	require.Equal(t, []string{"text: 4"}, merged(parser.Write("wer: 4")))
	require.Equal(t, []string{"text: 2"}, merged(parser.Write("2")))
}

func FuzzReAct(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "Thought: t\nAction: a\nAction Input: {\"x\": 1}\nObservation: o", "```\nFinal Answer: x\n```", "Thought 1: t\nAction 1: Finish[x]",
		"**Action:** a Action Input: {'a': [1, (2)]}", "Thought: x\nAnswer: y\n\\Action: z", "Action: None\nFinal Answer: a\nAction: b\nAction Input: c",
		"Action: ```json\n{\"action\": \"f\", \"action_input\": \"x\"}", "Thought:\n~~~\n\\\\Thought：\r\n```\nAction:\n\nAction Input:\n\"",
		"Action:```null\nThought:Thought:",
	} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = 1 + max(0, size)%9
		for _, mode := range []markdownpolicy.Mode{"", markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Mode: mode, Tools: reactTools}}
			checkReActPieces(t, p, text, func(rest int) int { return min(size, rest) })
			turn, err := p.ParseTurn(text)
			require.False(t, turn.Action != nil && turn.Answer != nil)
			require.True(t, turn.Action != nil || turn.Answer != nil || turn.Missing != "")
			require.Equal(t, err != nil, turn.Missing != "" && mode != markdownpolicy.ModeText)
			require.Contains(t, text, turn.Kept)
		}
	})
}
