package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

// TestS2_14_oddReplies reads replies in which a model strays from its format, but means one thing.
func TestS2_14_oddReplies(t *testing.T) {
	const (
		object  = `{"name":"list_users","arguments":{"team":"red"}}`
		inBlock = "<tool_call>\n```json\n" + object + "\n```\n</tool_call>"
		named   = "<tool_call>list_users\n{\"team\":\"red\"}\n</tool_call>"
	)
	plan := thoughtPart("plan")
	for name, cases := range map[string][]misread{
		"object in a code block": {
			{"hermes", inBlock, parts(redUsers)},
			{"hermes", "<tool_call>```\n" + object + "```</tool_call>", parts(redUsers)},
			{"glm", inBlock, parts(redUsers)},
		},
		"name and object": {
			{"hermes", named, parts(redUsers)},
			{"hermes", "<tool_call>list_users{\"team\":\"<arg_key>\"}</tool_call>", parts(callPart("call_1", "list_users", `{"team":"<arg_key>"}`))},
			{"glm", named, parts(redUsers)},
			{"glm", "<tool_call>list_users{\"team\":\"<arg_key>\"}</tool_call>", parts(callPart("call_1", "list_users", `{"team":"<arg_key>"}`))},
			{"hermes/open", "plan " + named, parts(plan, redUsers)},
			{"glm/open", "plan " + named, parts(plan, redUsers)},
		},
		"name of a block": inEach([]string{"fenced"}, []misread{
			{reply: "```tool_calls\n[" + object + "]\n```", want: parts(redUsers)},
			{reply: "```function_call\n" + object + "\n```", want: parts(redUsers)},
			{reply: "```tool_code\n" + object + "\n```", want: parts(redUsers)},
			{reply: "```tool_code\nlist_users()\n```", want: parts(textPart("```tool_code\nlist_users()\n```"))},
		}),
		"line breaks of Windows": {
			{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_users\r\n```json\r\n{\"team\":\"red\"}\r\n```\r\n<｜tool▁call▁end｜>", parts(redUsers)},
		},
		"thought without its end": inEach([]string{"harmony"}, []misread{
			{reply: "<|channel|>analysis<|message|>plan<|start|>assistant<|channel|>final<|message|>Hello.", want: parts(plan, textPart("Hello."))},
			{reply: "<|channel|>analysis<|message|>plan<|channel|>final<|message|>Hello.", want: parts(plan, textPart("Hello."))},
			{reply: "<|channel|>analysis<|message|>plan<|return|>", want: parts(plan)},
			{
				reply: "<|channel|>analysis<|message|>plan<|start|>assistant<|channel|>commentary to=functions.list_users<|message|>{\"team\":\"red\"}<|call|>",
				want:  parts(plan, redUsers),
			},
		}),
		"object in a code span": inEach([]string{"react"}, []misread{
			{reply: "Action: list_users\nAction Input: `{\"team\":\"red\"}`", want: parts(redUsers)},
			{reply: "Action: list_users\nAction Input: ``{'team': 'red'}``", want: parts(redUsers)},
			{reply: "Action: add\nAction Input: `{\"x\": 1}`\nObservation: 2", want: parts(callPart("call_1", "add", `{"x": 1}`))},
		}),
	} {
		for _, c := range cases {
			t.Run(name+"/"+c.policy, func(t *testing.T) { c.check(t, 3) })
		}
	}
}

// A name with a bracket is not that of a tool.
func TestS2_14_oddMistralName(t *testing.T) {
	reply := `[TOOL_CALLS]list_users({"team":"red"})`
	doc, err := markdownpolicy.Mistral.With(markdownpolicy.Options{Tools: teamTools}).ParseResponse(reply)
	require.ErrorContains(t, err, `expected the name of a tool behind [TOOL_CALLS]`)
	require.Equal(t, parts(textPart(reply)), doc.Contents())
}

// The input None is no argument of a tool that has none.
func TestS2_14_oddInputOfNothing(t *testing.T) {
	react := markdownpolicy.ReAct{Options: markdownpolicy.Options{Tools: append([]tools.Definition{{Name: "now"}}, teamTools...)}}
	doc, err := react.ParseResponse("Action: now\nAction Input: None")
	require.NoError(t, err)
	require.Equal(t, parts(callPart("call_1", "now", "{}")), doc.Contents())
	_, err = react.ParseResponse("Action: add\nAction Input: None")
	require.ErrorContains(t, err, "the arguments of add")
}
