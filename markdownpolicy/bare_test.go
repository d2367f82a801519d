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
		{"harmony", "<|channel|>final<|message|>Yes.<|end|><|start|>assistant<|channel|>" + harmony, parts(textPart("Yes."), redUsers)},
		{
			"harmony", "<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>final<|message|>It looks so:\n\n" + harmony + "<|return|>",
			parts(thoughtPart("So."), textPart("It looks so:\n\n"+harmony)),
		},
		{"harmony", marked, parts(redUsers)},
		{"harmony", "I look.\nassistant " + marked + "I looked.", parts(textPart("I look."), redUsers, textPart("I looked."))},
		{"kimi", kimi, parts(redUsers)},
		{"kimi", "functions.list_users:12\n{\"team\":\"red\"}", parts(redUsers)},
		{"kimi", "I look.\n" + kimi + "\n", parts(textPart("I look."), redUsers)},
		{"kimi", "I look." + kimi + `functions.add:1 {"x":1}`, parts(textPart("I look."), redUsers, addTwo)},
		{"kimi", "我看看。" + kimi + "<|im_end|>", parts(textPart("我看看。"), redUsers)},
		{"kimi", kimi + `<|tool_call_begin|>functions.add:1<|tool_call_argument_begin|>{"x":1}<|tool_call_end|>`, parts(redUsers, addTwo)},
		{"kimi", "<|tool_call_section_begin|>" + kimi + "<|tool_call_section_end|>", parts(redUsers)},
		{"kimi", "<think>" + kimi + "</think>No.", parts(thoughtPart(kimi), textPart("No."))},
		{"kimi/any", kimi + "</think>No.", parts(thoughtPart(kimi), textPart("No."))},
		{"kimi/any", "I look." + kimi, parts(textPart("I look."), redUsers)},
		{"kimi/open", "Now " + kimi + "</think>No.", parts(thoughtPart("Now "+kimi), textPart("No."))},
		{"kimi/open", "So.</think>" + kimi, parts(thoughtPart("So."), redUsers)},
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
		{"harmony", "> So.assistant" + harmony, nil},
		{"harmony", "```\n" + harmony, nil},
		{"harmony", "~~~text\n" + harmony + "\n~~~", nil},
		{"harmony", `to=functions.drop {"x":1}`, nil},
		{"harmony", `to=functions.list_users {"team":"re`, nil},
		{"harmony", `to=functions.list_users`, nil},
		{"harmony", `to=functions.list_users to=functions.add {}`, nil},
		{"harmony", `to=functions.add {"type":"object","properties":{"x":{"type":"integer"}}}`, nil},
		{"harmony", `<|channel|>commentary to=functions.list_users json{"team":"re`, nil},
		{"kimi", "Call " + kimi, nil},
		{"kimi", "x" + kimi, nil},
		{"kimi", kimi + " is a call.", nil},
		{"kimi", kimi + "\nThat was it.", nil},
		{"kimi", kimi + `functions.add:1{"x":1} or so`, nil},
		{"kimi", kimi + `functions.drop:1{"x":1}`, nil},
		{"kimi", "`" + kimi + "`", nil},
		{"kimi", "> " + kimi, nil},
		{"kimi", "> So." + kimi, nil},
		{"kimi", "Say `So." + kimi, nil},
		{"kimi", "```\n" + kimi + "\n```", nil},
		{"kimi", `functions.list_users{"team":"red"}`, nil},
		{"kimi", `functions.list_users:{"team":"red"}`, nil},
		{"kimi", `functions.list_users:first{"team":"red"}`, nil},
		{"kimi", `functions.drop:0{"x":1}`, nil},
		{"kimi", `functions.list_users:0{"team":"re`, nil},
		{"kimi", `functions.list_users:0`, nil},
		{"kimi", `functions.add:0{"type":"object","properties":{"x":{"type":"integer"}}}`, nil},
	}
	for _, c := range texts {
		all = append(all, misread{c.policy, c.reply, parts(textPart(c.reply))})
	}
	return all
}

// A text without the marks of these formats, or with a part of them, is no call, also if the tool
// is offered.
func TestTextsWithoutMarksStay(t *testing.T) {
	for policy, replies := range map[string][]string{
		"kimi": {
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

// Marks show that a call is meant: if it cannot be read, that is an error, also without the first
// of them.
func TestCallsWithoutTheirFirstMarkThatAreBroken(t *testing.T) {
	for _, reply := range []string{
		`to=functions.list_users<|channel|>commentary json<|message|>{"team":<|call|>`,
		`commentary to=functions.list_users prose<|message|>{"team":"red"}<|call|>`,
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
	for policy, reply := range map[string]string{
		"harmony": `commentary to=functions.list_users json{"team":"red"}`,
		"kimi":    `functions.list_users:0{"team":"red"}`,
	} {
		require.Equal(t, []messages.AssistantContent{textPart(reply)}, partsOf(t, trained(markdownpolicy.Options{})[policy], reply))
	}
}

// Text about functions is not held back, and only the names of offered tools are escaped in it.
func TestTextsAboutFunctionsStayAsTheyAre(t *testing.T) {
	const text = `See C:\functions.txt, functions.drop:0{} and the functions.`
	p := knowing("kimi").(markdownpolicy.Format)
	require.Equal(t, text, p.Render(parts(textPart(text))))
	require.Equal(t, parts(textPart(text)), partsOf(t, p, text))
	released := p.NewParser().Write(text + " So")
	require.Equal(t, parts(textPart(text+" So")), joined(released))
}
