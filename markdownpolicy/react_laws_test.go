package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
)

func TestReActReleasesWhatIsCertain(t *testing.T) {
	parser := markdownpolicy.ReAct{}.NewParser()
	require.Empty(t, parser.Write("Thought"))
	require.Equal(t, parts(thoughtPart("I think hard, as")), joined(parser.Write(": I think hard, as one expects")), "the end may be one of an answer")
	require.Equal(t, parts(thoughtPart(" one expects.")), joined(parser.Write(".\nFinal Ans")))
	require.Equal(t, parts(textPart("4")), joined(parser.Write("wer: 4")))
	require.Equal(t, parts(textPart("2")), joined(parser.Write("2")))
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
			checkPieces(t, lawful{Policy: p, name: "react"}, text, size)
			turn, err := p.ParseTurn(text)
			require.False(t, turn.Action != nil && turn.Answer != nil)
			require.True(t, turn.Action != nil || turn.Answer != nil || turn.Missing != "")
			require.Equal(t, err != nil, turn.Missing != "" && mode != markdownpolicy.ModeText)
			require.Contains(t, text, turn.Kept)
		}
	})
}
