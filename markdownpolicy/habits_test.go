package markdownpolicy_test

import (
	"strings"
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
		{reply: "Hello.<|end|><|start|>assistant", want: parts(textPart("Hello."))},
		{reply: "Hello.<|end|><|start|>assistant<|channel|>ana", want: parts(textPart("Hello.<|start|>assistant<|channel|>ana"))},
		{reply: "The mark is <|start|>", want: parts(textPart("The mark is <|start|>"))},
		{reply: `The header is to=functions.list_users`, want: parts(textPart("The header is to=functions.list_users"))},
		{reply: `The header is <|channel|>comments to=functions.list_users`, want: parts(textPart("The header is <|channel|>comments to=functions.list_users"))},
	},
	"deepseek": {
		{reply: "I look.<｜tool▁calls▁begin｜>function<｜tool▁sep｜>list_users\n```json\n{\"team\":\"red\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", want: parts(textPart("I look."), redUsers)},
	},
	"gemma": {
		{reply: "```tool_code\nprint(list_users(team=\"red\"))\nprint( add(x=1) )\n```", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		{reply: "```tool_code\n# The red team:\nlist_users(team=\"red\") # all of it\n# And then:\nadd(x=1)\n```", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		{reply: "```tool_code\n# Both:\n[list_users(team=\"red\"), add(x=1)]\n```", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		{reply: "```tool_code\nprint(team=\"red\")\n```", want: parts(callPart("call_1", "print", `{"team":"red"}`))},
	},
}

// shownCalls are texts that show a call, and hold none.
var shownCalls = []string{
	"So it is written:\n\n```xml\n<function=add>\n<parameter=x>1</parameter>\n</function>\n```\n\nI do not.",
	"~~~\n<function=add>{\"x\":1}</function>\n~~~",
	"```python\nassert parse('<function=add>{\"x\":1}</function>')\n```",
	`The log says "<function=add>{\"x\":1}</function>".`,
	"The log says '<function=add/>'.",
	"Write `{\"name\": \"add\", \"parameters\": {\"x\": 1}}` there.",
	"| call |\n|---|\n| `{\"name\": \"add\", \"parameters\": {\"x\": 1}}` |",
	"As you said:\n> {\"name\": \"add\", \"parameters\": {\"x\": 1}}",
	"As follows:\n\n    {\"name\": \"add\", \"parameters\": {\"x\": 1}}",
	"```go\nwant := `{\"name\": \"add\", \"parameters\": {\"x\": 1}}`\n```",
}

// stopMarks are those that a server may leave at the end of a reply, with a call before them.
var stopMarks = map[string]struct{ call, marks string }{
	"hermes":     {userCall, "<|im_end|> <|endoftext|>"},
	"hermes/any": {userCall, "<|im_end|>"},
	"hermes/lfm": {`<|tool_call_start|>[list_users(team="red")]<|tool_call_end|>`, "<|im_end|>"},
	"llama":      {`{"name":"list_users","parameters":{"team":"red"}}`, "<|eom_id|> <|eot_id|>"},
	"pythonic":   {"<function=list_users><parameter=team>red</parameter></function>", "<|eom|> <|eot|> <|eom_id|> <|eot_id|>"},
	"glm":        {glmCall, "<|observation|> <|user|> <|endoftext|>"},
	"gemma":      {"```tool_code\nlist_users(team=\"red\")\n```", "<end_of_turn>"},
	"mistral":    {`[TOOL_CALLS]list_users{"team":"red"}`, "</s>"},
}

func init() {
	for policy, s := range stopMarks {
		for mark := range strings.FieldsSeq(s.marks) {
			habits[policy] = append(habits[policy],
				misread{reply: s.call + "\n" + mark + "\n", want: parts(redUsers)},
				misread{reply: "Hello." + mark, want: parts(textPart("Hello."))},
				misread{reply: "Hello. " + mark + " " + mark, want: parts(textPart("Hello. " + mark))},
				misread{reply: "It is " + mark + ".", want: parts(textPart("It is " + mark + "."))},
				misread{reply: "It is `" + mark + "`", want: parts(textPart("It is `" + mark + "`"))},
			)
		}
	}
}

func init() {
	addsOne := callPart("call_1", "add", `{"x":1}`)
	ticked := callPart("call_1", "list_users", "{\"team\":\"`\"}")
	fenced := callPart("call_1", "list_users", "{\"team\":\"```\"}")
	second := callPart("call_2", "add", `{"x":1}`)
	for _, policy := range []string{"hermes", "hermes/repair", "hermes/any", "xml", "llama", "llama/repair", "pythonic", "think"} {
		habits[policy] = append(habits[policy], textsThatStay(shownCalls...)...)
		habits[policy] = append(habits[policy],
			misread{reply: "```\nx\n```\n<function=add>{\"x\":1}</function>", want: parts(textPart("```\nx\n```"), addsOne)},
			misread{reply: "<function=list_users>{\"team\":\"`\"}</function> <function=add>{\"x\":1}</function>", want: parts(ticked, second)},
			misread{reply: "<function=list_users>\n<parameter=team>\n```\n</parameter>\n</function>\n<function=add>{\"x\":1}</function>", want: parts(fenced, second)},
		)
	}
	habits["xml"] = append(habits["xml"], textsThatStay("```html\n<list_users/>\n```", `The tag "<list_users/>".`)...)
	habits["llama"] = append(habits["llama"],
		misread{reply: `    {"name":"add","parameters":{"x":1}}`, want: parts(addsOne)},
		misread{reply: "`<|python_tag|>{\"name\":\"add\",\"parameters\":{\"x\":1}}", want: parts(textPart("`"), addsOne)},
		misread{reply: "{\"name\":\"list_users\",\"parameters\":{\"team\":\"`\"}}; {\"name\":\"add\",\"parameters\":{\"x\":1}}", want: parts(ticked, second)},
	)
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
