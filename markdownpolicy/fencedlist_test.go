package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// A list of calls gives one call for each element, and no text.
func TestS2_12_FencedLists(t *testing.T) {
	two := []messages.AssistantContent{textPart("Both:"), callPart("call_1", "a", `{"x":1}`), callPart("call_2", "b", `{}`), textPart("So.")}
	const list = `[{"name":"a","arguments":{"x":1}},` + "\n" + `  {"arguments":{},"name":"b"} ]`
	known := markdownpolicy.Options{Tools: []tools.Definition{{Name: "a"}, {Name: "b"}}}
	for _, o := range []markdownpolicy.Options{{}, known} {
		l := lawful{Policy: markdownpolicy.Fenced.With(o), name: "fenced"}
		for _, text := range []string{
			"Both: " + list + " So.",
			"Both:\n[ \n" + list[1:] + "\nSo.",
			"Both:\n```json\n" + list + "\n```\nSo.",
			"Both:\n```\n" + list + "```\nSo.",
			"Both:\n```tool_call\n" + list + "\n```\nSo.",
		} {
			require.Equal(t, two, partsOf(t, l.Policy, text), text)
			for size := range 9 {
				checkReply(t, l, text, size)
			}
			checkRoundTrip(t, l.Policy, parts(textPart(text)))
			checkRoundTrip(t, l.Policy, parts(textPart(text+"]"), callPart("", "a", "{}"), textPart("["+text)))
		}
		for _, text := range []string{
			`[]`, `[{`, `[{}]`, `[{"foo":1}]`, `[1, {"name":1}]`, "```json\n[{\"foo\":1}]\n```", "```json\n[1]\n```", "```\n[ {\"name\":\"a\"", `\[{"foo":1}]`,
		} {
			require.Equal(t, parts(textPart(text)), partsOf(t, l.Policy, text), text)
			checkRoundTrip(t, l.Policy, parts(textPart(text)))
		}
		require.Equal(t, parts(textPart(`[{"name":"a","arguments":{}}]`)), partsOf(t, l.Policy, `\[{"name":"a","arguments":{}}]`))
	}
	doc, err := markdownpolicy.Fenced.ParseResponse("```json\n[{\"name\":\"a\",\"arguments\":{},}]\n```")
	require.Error(t, err)
	require.Len(t, doc.Parts, 1)
}
