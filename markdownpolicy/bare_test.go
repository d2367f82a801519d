package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// bareReplies are what servers leave of calls of list_users and add.
func bareReplies() (all []misread) {
	const (
		harmony = `commentary to=functions.list_users json{"team":"red"}`
		kimi    = `functions.list_users:0{"team":"red"}`
		fence   = "list_users\n```json\n{\"team\":\"red\"}\n```"
		glm     = "list_users<arg_key>team</arg_key><arg_value>red</arg_value>"
	)
	addTwo := callPart("call_2", "add", `{"x":1}`)
	all = []misread{
		{"harmony", `to=functions.list_users {"team":"red"}`, parts(redUsers)},
		{"harmony", harmony, parts(redUsers)},
		{"harmony", `commentary to=functions.list_users<|constrain|>json{"team":"red"}`, parts(redUsers)},
		{"harmony", `<|channel|>commentary to=functions.list_users json{"team":"red"}<|call|>`, parts(redUsers)},
		{"harmony", `<|start|>assistant<|channel|>commentary to=functions.list_users {"team":"red"}`, parts(redUsers)},
		{"harmony", `assistant to=functions.list_userscommentary json{"team":"red"}`, parts(redUsers)},
		{"harmony", `commentary to=functions.list_usersjson{"team":"red"}`, parts(redUsers)},
		{"harmony", "I look.assistant" + harmony, parts(textPart("I look."), redUsers)},
		{"harmony", "I look.\n" + harmony + "\n", parts(textPart("I look."), redUsers)},
		{"harmony", harmony + `assistantcommentary to=functions.add json{"x":1}`, parts(redUsers, addTwo)},
		{"harmony", `<|channel|>analysis<|message|>So.<|end|>` + harmony + "<|call|>", parts(thoughtPart("So."), redUsers)},
		{"harmony", "<|channel|>analysis<|message|>" + harmony + "<|end|><|start|>assistant<|channel|>final<|message|>No.<|return|>", parts(thoughtPart(harmony), textPart("No."))},
		{"kimi", kimi, parts(redUsers)},
		{"kimi", "I look.\n" + kimi + "\n", parts(textPart("I look."), redUsers)},
		{"kimi", "I look." + kimi + `functions.add:1 {"x":1}`, parts(textPart("I look."), redUsers, addTwo)},
		{"kimi", `functions.list_users:0<|tool_call_argument_begin|>{"team":"red"}<|tool_call_end|><|tool_calls_section_end|>`, parts(redUsers)},
		{"kimi", "<|tool_call_section_begin|>" + kimiBare + "<|tool_call_section_end|>", parts(redUsers)},
		{"kimi", "<think>" + kimi + "</think>No.", parts(thoughtPart(kimi), textPart("No."))},
		{"kimi/open", "Now " + kimi + "</think>No.", parts(thoughtPart("Now "+kimi), textPart("No."))},
		{"deepseek", fence, parts(redUsers)},
		{"deepseek", "I look.\nfunction" + fence + "\nfunctionadd\n```json\n{\"x\":1}\n```", parts(textPart("I look."), redUsers, addTwo)},
		{"deepseek", `list_users<｜tool▁sep｜>{"team":"red"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`, parts(redUsers)},
		{"deepseek", "function<｜tool▁sep｜>" + fence + "<｜tool▁call▁end｜>", parts(redUsers)},
		{"deepseek", "function<|tool▁sep|>" + fence + "<|tool▁call▁end|>", parts(redUsers)},
		{"deepseek", "<think>" + fence + "</think>No.", parts(thoughtPart(fence), textPart("No."))},
		{"glm", glm + "</tool_call>", parts(redUsers)},
		{"glm", "I look.\nlist_users\n<arg_key>team</arg_key>\n<arg_value>red</arg_value>\n</tool_call>", parts(textPart("I look."), redUsers)},
		{"glm", glm, parts(redUsers)},
		{"glm", "<tool_call>list_users</arg_value>", parts(allUsers)},
		{"glm", "<tool_call>list_users</arg_value></tool_call>", parts(allUsers)},
		{"glm", "<tool_call>list_users\n{\"team\":\"red\"}\n</tool_call>", parts(redUsers)},
		{"glm", `<tool_call>list_users{"team":"red"}</tool_call>`, parts(redUsers)},
		{"glm/repair", "<tool_call>list_users<arg_key>team</arg_key>red</arg_value></tool_call>", parts(redUsers)},
		{"glm/repair", "<tool_call>list_users<arg_key>team</arg_key></arg_key><arg_value>red</arg_value></tool_call>", parts(redUsers)},
		{"glm/repair", "<tool_call>list_usersteam</arg_key><arg_value>red</arg_value></tool_call>", parts(redUsers)},
		{"glm/repair", "<tool_call>list_users team</arg_key>red</arg_value><arg_key>limit</arg_key><arg_value>3</arg_value></tool_call>", parts(callPart("call_1", "list_users", `{"team":"red","limit":3}`))},
	}
	// text that only speaks of calls, tools that are not offered, code, and what is cut off
	texts := []misread{
		{"gemma", harmony, nil},
		{"harmony", "They saw " + harmony, nil},
		{"harmony", "They saw assistant" + harmony, nil},
		{"harmony", harmony + " in the log.", nil},
		{"harmony", harmony + "\nThat was it.", nil},
		{"harmony", harmony + `assistantcommentary to=functions.add json{"x":1} or so`, nil},
		{"harmony", "`assistant" + harmony, nil},
		{"harmony", "> " + harmony, nil},
		{"harmony", "```\n" + harmony, nil},
		{"harmony", "~~~text\n" + harmony + "\n~~~", nil},
		{"harmony", `to=functions.drop {"x":1}`, nil},
		{"harmony", `to=functions.list_users {"team":"re`, nil},
		{"harmony", `to=functions.list_users`, nil},
		{"harmony", `to=functions.list_users to=functions.add {}`, nil},
		{"harmony", `to=functions.add {"type":"object","properties":{"x":{"type":"integer"}}}`, nil},
		{"kimi", "Call " + kimi, nil},
		{"kimi", "x" + kimi, nil},
		{"kimi", kimi + " is a call.", nil},
		{"kimi", "`" + kimi + "`", nil},
		{"kimi", "```\n" + kimi + "\n```", nil},
		{"kimi", `functions.list_users{"team":"red"}`, nil},
		{"kimi", `functions.drop:0{"x":1}`, nil},
		{"kimi", `functions.list_users:0{"team":"re`, nil},
		{"deepseek", fence + "\nis the call.", nil},
		{"deepseek", "The function list_users\n```json\n{}\n```", nil},
		{"deepseek", "add\n```json\n{\"y\":1}\n```", nil},
		{"deepseek", "add\n```json\n{}\n```", nil},
		{"deepseek", "add\n```json\n{\"x\":1}", nil},
		{"deepseek", "drop\n```json\n{}\n```", nil},
		{"deepseek", "````\n" + fence, nil},
		{"glm", "Write " + glm + "</tool_call>", nil},
		{"glm", "list_users<arg_key> is its mark.", nil},
		{"glm", "```\n" + glm + "\n```", nil},
		{"glm", "drop<arg_key>x</arg_key><arg_value>1</arg_value>", nil},
		{"glm", "list_users<arg_key>team</arg_key><arg_val", nil},
	}
	for _, c := range texts {
		all = append(all, misread{c.policy, c.reply, parts(textPart(c.reply))})
	}
	return all
}

// What is told again of such replies is read as the same.
func TestCallsWithoutTheirMarksAreToldWithThem(t *testing.T) {
	for _, c := range bareReplies() {
		p := knowing(c.policy)
		checkRoundTrip(t, p, c.want)
		checkRoundTrip(t, p, parts(textPart(c.reply), callPart("call_1", "add", `{"x":1}`)))
	}
}

// A call whose end mark is missing may be cut off.
func TestPairsWithoutTheirMarksCutOff(t *testing.T) {
	for reply, open := range map[string]bool{
		"list_users<arg_key>team</arg_key><arg_value>red</arg_value>":             true,
		"list_users<arg_key>team</arg_key><arg_value>red</arg_value></tool_call>": false,
	} {
		doc, err := knowing("glm").ParseResponse(reply)
		require.NoError(t, err)
		require.Len(t, doc.Parts, 1)
		require.Equal(t, open, doc.Parts[0].Open, reply)
	}
}

// Without tools nothing says that it is a call.
func TestCallsWithoutTheirMarksNeedTools(t *testing.T) {
	for _, c := range []misread{
		{policy: "harmony", reply: `commentary to=functions.list_users json{"team":"red"}`},
		{policy: "kimi", reply: `functions.list_users:0{"team":"red"}`},
		{policy: "deepseek", reply: "list_users\n```json\n{\"team\":\"red\"}\n```"},
		{policy: "glm", reply: "list_users<arg_key>team</arg_key><arg_value>red</arg_value></tool_call>"},
	} {
		require.Equal(t, []messages.AssistantContent{textPart(c.reply)}, partsOf(t, trained(markdownpolicy.Options{})[c.policy], c.reply))
	}
}
