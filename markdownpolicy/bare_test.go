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
		marked  = `to=functions.list_users<|channel|>commentary json<|message|>{"team":"red"}<|call|>`
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
		{"harmony", `assistant to=functions.list_userscommentaryjson{"team":"red"}`, parts(redUsers)},
		{"harmony", "I look.assistant" + harmony, parts(textPart("I look."), redUsers)},
		{"harmony", "I look.\n" + harmony + "\n", parts(textPart("I look."), redUsers)},
		{"harmony", harmony + `assistantcommentary to=functions.add json{"x":1}`, parts(redUsers, addTwo)},
		{"harmony", `<|channel|>analysis<|message|>So.<|end|>` + harmony + "<|call|>", parts(thoughtPart("So."), redUsers)},
		{"harmony", "<|channel|>analysis<|message|>" + harmony + "<|end|><|start|>assistant<|channel|>final<|message|>No.<|return|>", parts(thoughtPart(harmony), textPart("No."))},
		{"harmony", marked, parts(redUsers)},
		{"harmony", "I look.\nassistant " + marked + "I looked.", parts(textPart("I look."), redUsers, textPart("I looked."))},
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
		{"harmony", `<|channel|>commentary to=functions.list_users json{"team":"re`, nil},
	}
	for _, c := range texts {
		all = append(all, misread{c.policy, c.reply, parts(textPart(c.reply))})
	}
	return all
}

// The marks of these formats are no special tokens, so no server takes them away: without them a
// text is no call, also if the tool is offered.
func TestTextsWithoutMarksStay(t *testing.T) {
	for policy, replies := range map[string][]string{
		"kimi": {
			`functions.list_users:0{"team":"red"}`,
			"I look.\n" + `functions.list_users:0 {"team":"red"}`,
			`functions.list_users:0<|tool_call_argument_begin|>{"team":"red"}<|tool_call_end|>`,
		},
		"deepseek": {
			"list_users\n```json\n{\"team\":\"red\"}\n```",
			`list_users<｜tool▁sep｜>{"team":"red"}<｜tool▁call▁end｜>`,
		},
		"glm": {
			"list_users<arg_key>team</arg_key><arg_value>red</arg_value>",
			"I look.\nlist_users\n<arg_key>team</arg_key>\n<arg_value>red</arg_value>\n</tool_call>",
		},
	} {
		for _, reply := range replies {
			require.Equal(t, parts(textPart(reply)), partsOf(t, knowing(policy), reply))
			checkRoundTrip(t, knowing(policy), parts(textPart(reply), callPart("call_1", "add", `{"x":1}`)))
		}
	}
}

// Pairs with a tag too few or too many are an error, which the model sees.
func TestPairsThatLackTags(t *testing.T) {
	for _, body := range []string{
		"list_users</arg_value>",
		"list_users<arg_key>team</arg_key>red</arg_value>",
		"list_users<arg_key>team</arg_key></arg_key><arg_value>red</arg_value>",
		"list_usersteam</arg_key><arg_value>red</arg_value>",
	} {
		for _, policy := range []string{"glm", "glm/repair"} {
			_, err := knowing(policy).ParseResponse("<tool_call>" + body + "</tool_call>")
			require.Error(t, err, body)
		}
	}
}

// Marks show that a call is meant: if it cannot be read, that is an error, also without the first of
// them.
func TestCallsWithoutTheirFirstMarkThatAreBroken(t *testing.T) {
	for _, reply := range []string{
		`to=functions.list_users<|channel|>commentary json<|message|>{"team":<|call|>`,
		`commentary to=functions.list_users code<|message|>{"team":"red"}<|call|>`,
	} {
		_, err := knowing("harmony").ParseResponse(reply)
		require.Error(t, err, reply)
	}
}

// What is told again of such replies is read as the same.
func TestCallsWithoutTheirMarksAreToldWithThem(t *testing.T) {
	for _, c := range bareReplies() {
		p := knowing(c.policy)
		checkRoundTrip(t, p, c.want)
		checkRoundTrip(t, p, parts(textPart(c.reply), callPart("call_1", "add", `{"x":1}`)))
	}
}

// Without tools nothing says that it is a call.
func TestCallsWithoutTheirMarksNeedTools(t *testing.T) {
	const reply = `commentary to=functions.list_users json{"team":"red"}`
	require.Equal(t, []messages.AssistantContent{textPart(reply)}, partsOf(t, trained(markdownpolicy.Options{})["harmony"], reply))
}
