package markdownpolicy_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
)

// trainedMisread is what the formats of newer models read in the replies of a class.
type trainedMisread struct {
	cases []misread
	none  map[string]string // as in misreading
}

// trainedKnowing returns a format of newer models by its name in the table, with the tools.
func trainedKnowing(name string) markdownpolicy.Policy {
	o := markdownpolicy.Options{Tools: teamTools}
	name, repairs := strings.CutSuffix(name, "/repair")
	if repairs {
		o.Mode = markdownpolicy.ModeRepair
	}
	return trained(o)[strings.Replace(name, "/", " ", 1)]
}

const (
	glmCall      = "<tool_call>list_users\n<arg_key>team</arg_key>\n<arg_value>red</arg_value>\n</tool_call>"
	kimiBare     = `<|tool_call_begin|>functions.list_users:0<|tool_call_argument_begin|>{"team":"red"}<|tool_call_end|>`
	kimiCalls    = "<|tool_calls_section_begin|>" + kimiBare + "<|tool_calls_section_end|>"
	deepSeekBare = `<｜tool▁call▁begin｜>list_users<｜tool▁sep｜>{"team":"red"}<｜tool▁call▁end｜>`
	deepSeekAll  = "<｜tool▁calls▁begin｜>" + deepSeekBare + "<｜tool▁calls▁end｜>"
	deepSeekR1   = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_users\n```json\n{\"team\":\"red\"}\n```<｜tool▁call▁end｜>"
)

// inOpenThought are replies that begin in a thought, with a call of list_users and its first mark.
func inOpenThought(policy, mark, call string) []misread {
	return inEach([]string{policy}, []misread{
		{reply: "I could say " + call + ", but no.</think>Hello.", want: parts(thoughtPart("I could say "+call+", but no."), textPart("Hello."))},
		{reply: "First " + call + "\n</think>\nThe red team.", want: parts(thoughtPart("First "+call), textPart("The red team."))},
		{reply: "The mark is " + mark + ", they say.</think>" + call, want: parts(thoughtPart("The mark is "+mark+", they say."), redUsers)},
		{reply: "The marks are " + mark + " and others.", want: parts(thoughtPart("The marks are " + mark + " and others."))},
		{reply: "Not <think> nor " + mark + " here.</think>Hello.", want: parts(thoughtPart("Not <think> nor "+mark+" here."), textPart("Hello."))},
		{reply: "Now " + call, want: parts(thoughtPart("Now"), redUsers)},
		{reply: "Now " + call + "\n</think>\n", want: parts(thoughtPart("Now"), redUsers)},
		{reply: "Now " + call + "<think>And then?</think>Hello.", want: parts(thoughtPart("Now"), redUsers, thoughtPart("And then?"), textPart("Hello."))},
		{reply: "Hm.</think><think>Or " + call + "?</think>Hello.", want: parts(thoughtPart("Hm."), thoughtPart("Or "+call+"?"), textPart("Hello."))},
	})
}

// inTaggedThought are the same replies, of a model that writes the first tag itself.
func inTaggedThought(policy, mark, call string) []misread {
	cases := inOpenThought(policy, mark, call)
	for i := range cases {
		cases[i].reply = "<think>" + cases[i].reply
	}
	return cases
}

// quotesThoughtEnd is a call in an open thought whose argument is the end of a thought.
func quotesThoughtEnd(policy, call string) misread {
	call = strings.Replace(call, `"red"`, `"</think>"`, 1)
	return misread{policy, "So " + call, parts(thoughtPart("So"), callPart("call_1", "list_users", `{"team":"</think>"}`))}
}

// inLeadingThought are replies that may begin with a thought, with a call.
func inLeadingThought(format, call string) []misread {
	return slices.Concat(
		inEach([]string{format + "/any", format + "/open"}, []misread{
			{reply: "Let me see.</think>Hello.", want: parts(thoughtPart("Let me see."), textPart("Hello."))},
			{reply: "\nNot " + call + ".\n</think>\n" + call, want: parts(thoughtPart("Not "+call+"."), redUsers)},
		}),
		inEach([]string{format + "/any"}, []misread{
			{reply: "Hello. " + call, want: parts(textPart("Hello."), redUsers)},
			{reply: "Hello. <think>Hm.</think>Bye.</think>", want: parts(textPart("Hello."), thoughtPart("Hm."), textPart("Bye.</think>"))},
			{reply: `\</think> ends it.`, want: parts(textPart("</think> ends it."))},
		}),
	)
}

// eachOf gives one reason for several policies.
func eachOf(reason string, policies ...string) map[string]string {
	all := map[string]string{}
	for _, p := range policies {
		all[p] = reason
	}
	return all
}

// trainedMisreadings are by the name of the class.
var trainedMisreadings = map[string]trainedMisread{
	"function": {none: map[string]string{
		"glm": "stays text; read in `<tool_call>`", "kimi": "stays text", "deepseek": "stays text", "harmony": "stays text", "gemma": "stays text",
	}},
	"open thought": {
		cases: slices.Concat(
			inOpenThought("glm/open", "<tool_call>", glmCall),
			inOpenThought("glm/open", "<tool_call>", userCall),
			inOpenThought("kimi/open", "<|tool_calls_section_begin|>", kimiCalls),
			inOpenThought("kimi/open", "<|tool_call_begin|>", kimiBare),
			inOpenThought("deepseek/open", "<｜tool▁calls▁begin｜>", deepSeekAll),
			inOpenThought("deepseek/open", "<｜tool▁call▁begin｜>", deepSeekBare),
			inOpenThought("deepseek/open", "<｜tool▁call▁begin｜>", deepSeekR1),
			inOpenThought("deepseek/open", "<|tool▁call▁begin|>", strings.ReplaceAll(deepSeekBare, "｜", "|")),
			inTaggedThought("hermes", "<tool_call>", userCall),
			inTaggedThought("hermes/any", "<tool_call>", userCall),
			inTaggedThought("glm", "<tool_call>", glmCall),
			inTaggedThought("kimi", "<|tool_calls_section_begin|>", kimiCalls),
			inTaggedThought("deepseek", "<｜tool▁calls▁begin｜>", deepSeekAll),
			[]misread{
				quotesThoughtEnd("glm/open", userCall), quotesThoughtEnd("kimi/open", kimiCalls), quotesThoughtEnd("kimi/open", kimiBare),
				quotesThoughtEnd("deepseek/open", deepSeekAll), quotesThoughtEnd("deepseek/open", deepSeekR1),
				{"glm/open", "Now <tool_call>list_users</tool_call>", parts(thoughtPart("Now"), allUsers)},
				{"kimi/open", "Now <|tool_calls_section_begin|> <|tool_call_begin|> and so on.", parts(thoughtPart("Now <|tool_calls_section_begin|> <|tool_call_begin|> and so on."))},
			},
		),
		none: map[string]string{"harmony": "a thought is a message; without marks it stays text", "gemma": "a thought has both tags"},
	},
	"nested": {none: map[string]string{
		"glm": "a call has a name before it", "kimi": "a call has a name before it", "deepseek": "a call has a name before it", "harmony": "a call has a name before it", "gemma": "a call is no JSON",
	}},
	"chain": {none: eachOf("alone", "glm", "kimi", "deepseek", "harmony", "gemma")},
	"empty tag": {
		cases: inEach([]string{"glm", "glm/open", "glm/repair"}, []misread{
			{reply: "<tool_call><function=list_users/></tool_call>", want: parts(allUsers)},
			{reply: "<tool_call>\n<function=list_users />\n</function>\n</tool_call>", want: parts(allUsers)},
			{reply: `<tool_call><function="list_users"><parameter="team">red</parameter></function></tool_call>`, want: parts(redUsers)},
		}),
		none: eachOf("it has no such tags", "kimi", "deepseek", "harmony", "gemma"),
	},
	"parameters": {
		cases: []misread{{"glm", `<tool_call>{"name": "list_users", "parameters": {"team": "red"}}</tool_call>`, parts(users)}},
		none: map[string]string{
			"kimi": "arguments have no key", "deepseek": "arguments have no key", "harmony": "arguments have no key", "gemma": "it has no keys",
		},
	},
	"function forms": {
		cases: inEach([]string{"glm", "glm/open", "glm/repair"}, []misread{
			{reply: `<tool_call><function=list_users>{"team": "red"}</function></tool_call>`, want: parts(users)},
			{reply: "<tool_call>\n<function=list_users>\n{\"team\": \"red\"}\n</tool_call>", want: parts(users)},
			{reply: "<tool_call><function=list_users><parameter=team>red</parameter></function>\n<function=add>{\"x\":1}</function></tool_call>", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
		}),
		none: eachOf("it has no such tags", "kimi", "deepseek", "harmony", "gemma"),
	},
	"fence": {
		cases: slices.Concat(
			inEach([]string{"deepseek", "deepseek/v3", "deepseek/open"}, []misread{
				{reply: "<think></think><｜tool▁call▁begin｜>function<｜tool▁sep｜>list_users\n```json\n{\"team\": \"red\"}```<｜tool▁call▁end｜>", want: parts(users)},
				{reply: "<think></think><｜tool▁call▁begin｜>function<｜tool▁sep｜>list_users\n```json{\"team\": \"red\"} ```\n<｜tool▁call▁end｜>", want: parts(users)},
			}),
			[]misread{{"gemma", "```tool_code\nlist_users(team=\"red\")```", parts(redUsers)}},
		),
		none: eachOf("it has no fences", "glm", "kimi", "harmony"),
	},
	"apostrophe": {
		cases: func() (all []misread) {
			const object = `{"team":"it\'s red"}`
			for policy, reply := range map[string]string{
				"glm/repair":      `<tool_call>{"name":"list_users","arguments":` + object + `}</tool_call>`,
				"kimi/repair":     strings.Replace(kimiCalls, `{"team":"red"}`, object, 1),
				"deepseek/repair": strings.Replace(deepSeekAll, `{"team":"red"}`, object, 1),
				"harmony/repair":  `<|channel|>commentary to=functions.list_users <|constrain|>json<|message|>` + object + `<|call|>`,
			} {
				all = append(all, misread{policy, reply, parts(callPart("call_1", "list_users", `{"team":"it's red"}`))})
			}
			return all
		}(),
		none: map[string]string{"gemma": "Python has this escape"},
	},
	"leading thought": {
		cases: slices.Concat(inLeadingThought("glm", glmCall), inLeadingThought("kimi", kimiCalls), inLeadingThought("deepseek", deepSeekAll)),
		none:  map[string]string{"harmony": "a thought is a message; without marks it stays text", "gemma": "within Think"},
	},
}

// The cases of these formats are in the same table as the others.
func init() {
	misreadings = append(misreadings, misreading{
		name: "bare", title: "a call whose marks, or some of them, a server took away",
		cases: bareReplies(),
		none: map[string]string{
			"glm": "stays text", "deepseek": "stays text",
			"fenced": "its marks are no tokens", "xml": "its marks are no tokens", "react": "its marks are no tokens", "hermes": "the JSON that is left is read by Llama",
			"llama": "a call needs no mark", "pythonic": "a call needs no mark", "mistral": "a list needs no mark", "think": "as its policy reads it", "chain": "as its policies read it",
		},
	})
	for i := range misreadings {
		m := &misreadings[i]
		m.none["structured"] = "a reply is an object of its own form"
		also := trainedMisreadings[m.name]
		m.cases = append(m.cases, also.cases...)
		maps.Copy(m.none, also.none)
	}
}
