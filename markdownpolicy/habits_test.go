package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// habits are replies in which models write a call, or its values, otherwise than they were taught.
var habits = map[string][]misread{
	"kimi": {
		{reply: `<|tool_call_begin|>functions.list_users<|tool_call_argument_begin|>{"team":"red"}<|tool_call_end|>`, want: parts(redUsers)},
		{reply: `<|tool_call_begin|>list_users<|tool_call_argument_begin|>{"team":"red"}<|tool_call_end|>`, want: parts(redUsers)},
	},
	"harmony": {
		{reply: `<|channel|>commentary to=functions.list_users code<|message|>{"team":"red"}<|call|>`, want: parts(redUsers)},
		{reply: `<|channel|>commentary to=functions.list_users <|constrain|>JSON<|message|>{"team":"red"}<|call|>`, want: parts(redUsers)},
		{reply: `<|channel|>commentary to=functions.list_users<|constrain|> response.v1<|message|>{"team":"red"}<|call|>`, want: parts(redUsers)},
		{reply: `<|channel|>analysis code<|message|>I see.<|end|>`, want: parts(thoughtPart("I see."))},
		{reply: `The header is to=functions.list_users`, want: parts(textPart("The header is to=functions.list_users"))},
		{reply: `The header is <|channel|>comments to=functions.list_users`, want: parts(textPart("The header is <|channel|>comments to=functions.list_users"))},
	},
	"gemma": {
		{reply: "```tool_code\nprint(list_users(team=\"red\"))\nprint( add(x=1) )\n```", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		{reply: "```tool_code\n# The red team:\nlist_users(team=\"red\") # all of it\n# And then:\nadd(x=1)\n```", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		{reply: "```tool_code\n# Both:\n[list_users(team=\"red\"), add(x=1)]\n```", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		{reply: "```tool_code\nprint(team=\"red\")\n```", want: parts(callPart("call_1", "print", `{"team":"red"}`))},
	},
}

func TestHabits(t *testing.T) {
	for policy, cases := range habits {
		for _, c := range inEach([]string{policy}, cases) {
			t.Run(policy, func(t *testing.T) { c.check(t, 1) })
		}
	}
}

// What was cut off, or calls what it does not name, is an error and not a text or a call.
func TestHabitsThatAreErrors(t *testing.T) {
	for policy, replies := range map[string][]string{
		"harmony": {"<|channel|>commentary to=functions.list_users", "<|start|>assistant to=functions.list_users<|channel|>commentary json"},
		"gemma":   {"```tool_code\nprint(list_users(team=\"red\")\nadd(x=1)\n```", "```tool_code\nprint(list_users(team=\"red\"), add(x=1))\n```"},
	} {
		for _, reply := range replies {
			doc, err := knowing(policy).ParseResponse(reply)
			require.Error(t, err, reply)
			require.Equal(t, parts(textPart(reply)), doc.Contents())
		}
	}
}
