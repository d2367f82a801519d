package markdownpolicy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// teamTools are the tools of the replies below. The first needs no arguments.
var teamTools = []tools.Definition{
	{Name: "list_users", Parameters: []byte(`{"type":"object","properties":{"team":{"type":"string"},"limit":{"type":"integer"}}}`)},
	{Name: "add", Parameters: []byte(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
}

// misreading is a way in which replies were once misread.
type misreading struct {
	name  string
	title string
	cases []misread
	none  map[string]string // why it cannot occur in a policy
}

// misread is a reply, and what is read in it.
type misread struct {
	policy string // its name; behind a slash, a variant
	reply  string
	want   []messages.AssistantContent
}

// knowing are the policies of the table, each with the tools.
func knowing(name string) markdownpolicy.Policy {
	if p := trainedKnowing(name); p != nil {
		return p
	}
	o := markdownpolicy.Options{Tools: teamTools}
	repair := o
	repair.Mode = markdownpolicy.ModeRepair
	hermes := markdownpolicy.Hermes.With(o)
	return map[string]markdownpolicy.Policy{
		"fenced": markdownpolicy.Fenced.With(o), "xml": markdownpolicy.XML.With(o), "react": markdownpolicy.ReAct{Options: o},
		"hermes": hermes, "llama": markdownpolicy.Llama.With(o), "pythonic": markdownpolicy.Pythonic.With(o), "mistral": markdownpolicy.Mistral.With(o),
		"hermes/open":     thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsOpen).With(o),
		"hermes/any":      thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsAny).With(o),
		"hermes/deepseek": markdownpolicy.LooseDeepSeek.With(o),
		"hermes/lfm":      markdownpolicy.LFM.With(o),
		"hermes/lfm open": thinking(markdownpolicy.LFM, markdownpolicy.ThoughtsOpen).With(o),
		"hermes/unknown":  markdownpolicy.Hermes,
		"llama/unknown":   markdownpolicy.Llama,
		"fenced/unknown":  markdownpolicy.Fenced,
		"fenced/repair":   markdownpolicy.Fenced.With(repair), "xml/repair": markdownpolicy.XML.With(repair), "react/repair": markdownpolicy.ReAct{Options: repair},
		"hermes/repair": markdownpolicy.Hermes.With(repair), "llama/repair": markdownpolicy.Llama.With(repair), "mistral/repair": markdownpolicy.Mistral.With(repair),
		"think":         markdownpolicy.Think{Policy: hermes},
		"think/open":    markdownpolicy.Think{Policy: hermes, Start: markdownpolicy.ThoughtsOpen},
		"chain":         markdownpolicy.Chain{markdownpolicy.Fenced.With(o), hermes},
		"chain/repair":  markdownpolicy.Chain{markdownpolicy.Hermes.With(repair), markdownpolicy.XML.With(repair)},
		"chain/turned":  markdownpolicy.Chain{markdownpolicy.XML.With(repair), markdownpolicy.Hermes.With(repair)},
		"chain/mistral": markdownpolicy.Chain{markdownpolicy.Mistral.With(repair), markdownpolicy.Hermes.With(repair), markdownpolicy.XML.With(repair)},
	}[name]
}

const (
	userCall = `<tool_call>{"name":"list_users","arguments":{"team":"red"}}</tool_call>`
	inWords  = "In <function=list_users> the name follows."
)

var (
	users    = callPart("call_1", "list_users", `{"team": "red"}`)
	redUsers = callPart("call_1", "list_users", `{"team":"red"}`)
	allUsers = callPart("call_1", "list_users", "{}")
)

// misreadings are all classes that were found, with replies that we wrote.
var misreadings = []misreading{
	{
		name: "function", title: "`<function=…>` without its wrapper",
		cases: slices.Concat(
			inEach([]string{"hermes", "hermes/lfm", "hermes/deepseek", "xml", "llama", "pythonic", "chain", "think"}, []misread{
				{reply: `<function=list_users>{"team": "red"}</function>`, want: parts(users)},
				{reply: "I look.\n<function=list_users>\n<parameter=team>\nred\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>", want: parts(textPart("I look."), callPart("call_1", "list_users", `{"team":"red","limit":3}`))},
				{reply: `<function=list_users>{"team": "red"}</function><function=add>{"x":1}</function> Done.`, want: parts(users, callPart("call_2", "add", `{"x":1}`), textPart("Done."))},
				{reply: "<function=list_users></function>", want: parts(allUsers)},
				{reply: `<function=list_users>{"team": "</function>"}</function>`, want: parts(callPart("call_1", "list_users", `{"team": "</function>"}`))},
				{reply: "<function=list_users><parameter=team></function></parameter></function>", want: parts(callPart("call_1", "list_users", `{"team":"</function>"}`))},
				{reply: `<function=list_users>{"team": "red"}</func`, want: parts(users)},
				{reply: inWords, want: parts(textPart(inWords))},
				{reply: "Use `<function=add>{\"x\":1}</function>` here.", want: parts(textPart("Use `<function=add>{\"x\":1}</function>` here."))},
				{reply: "In code: `a <function=add>{\"x\":1}</function>`.\n> <function=add>{\"x\":1}</function>", want: parts(textPart("In code: `a <function=add>{\"x\":1}</function>`.\n> <function=add>{\"x\":1}</function>"))},
				{reply: `<function=drop>{"x":1}</function>`, want: parts(textPart(`<function=drop>{"x":1}</function>`))},
				{reply: `{"help": "<function=add>{\"x\":1}</function>"}`, want: parts(textPart(`{"help": "<function=add>{\"x\":1}</function>"}`))},
			}),
			inEach([]string{"hermes", "hermes/deepseek", "xml", "llama", "pythonic"}, []misread{{reply: `\<function=add>{"x":1}</function>`, want: parts(textPart(`<function=add>{"x":1}</function>`))}}),
			inEach([]string{"hermes/unknown"}, []misread{{reply: `<function=add>{"x":1}</function>`, want: parts(textPart(`<function=add>{"x":1}</function>`))}}),
		),
		none: map[string]string{"fenced": "it has no tags", "react": "it has no tags", "mistral": "its models write brackets"},
	},
	{
		name: "open thought", title: "a call, or its mark, in an open thought that closes later",
		cases: slices.Concat(
			inEach([]string{"hermes/open", "think/open"}, []misread{
				{reply: "I could say " + userCall + ", but no.</think>Hello.", want: parts(thoughtPart("I could say "+userCall+", but no."), textPart("Hello."))},
				{reply: "First " + userCall + "\n</think>\nThe red team.", want: parts(thoughtPart("First "+userCall), textPart("The red team."))},
				{reply: "The mark is <tool_call>, they say.</think>" + userCall, want: parts(thoughtPart("The mark is <tool_call>, they say."), redUsers)},
				{reply: "The marks are <tool_call> and </tool_call>.", want: parts(thoughtPart("The marks are <tool_call> and </tool_call>."))},
				{reply: "Not <think> nor <tool_call> here.</think>Hello.", want: parts(thoughtPart("Not <think> nor <tool_call> here."), textPart("Hello."))},
			}),
			inEach([]string{"hermes/open"}, []misread{
				{reply: "Now " + userCall, want: parts(thoughtPart("Now"), redUsers)},
				{reply: "Now <function=add>{\"x\":1}</function>", want: parts(thoughtPart("Now"), callPart("call_1", "add", `{"x":1}`))},
				{reply: "Not <function=add>{\"x\":1}</function>.</think>Hello.", want: parts(thoughtPart("Not <function=add>{\"x\":1}</function>."), textPart("Hello."))},
				{reply: "Some <function=any> of them.", want: parts(thoughtPart("Some <function=any> of them."))},
				{reply: "Now " + userCall + "\n</think>\n", want: parts(thoughtPart("Now"), redUsers)},
				{reply: "Now " + userCall + "<think>And then?</think>Hello.", want: parts(thoughtPart("Now"), redUsers, thoughtPart("And then?"), textPart("Hello."))},
				{reply: `So <tool_call>{"name":"list_users","arguments":{"team":"</think>"}}</tool_call>`, want: parts(thoughtPart("So"), callPart("call_1", "list_users", `{"team":"</think>"}`))},
				{reply: "Hm.</think><think>Or " + userCall + "?</think>Hello.", want: parts(thoughtPart("Hm."), thoughtPart("Or "+userCall+"?"), textPart("Hello."))},
			}),
			inEach([]string{"hermes/lfm open"}, []misread{
				{reply: "Not <|tool_call_start|>[add(x=1)]<|tool_call_end|> now.</think>Hello.", want: parts(thoughtPart("Not <|tool_call_start|>[add(x=1)]<|tool_call_end|> now."), textPart("Hello."))},
			}),
		),
		none: map[string]string{
			"fenced": "a thought is a block", "xml": "a thought has both tags", "react": "a thought is a line", "llama": "a thought has both tags",
			"pythonic": "a thought has both tags", "mistral": "a thought has both marks", "chain": "as its policies read it",
		},
	},
	{
		name: "nested", title: "an object within other JSON, or the definition of a tool",
		cases: slices.Concat(
			inEach([]string{"llama", "llama/unknown", "llama/repair", "fenced", "fenced/repair"}, textsThatStay(
				`{"log": [{"name": "add", "parameters": {"x": 1}}]}`,
				`Here: {"tool": {"name": "add", "arguments": {"x": 1}}, "n": [1]} as it was.`,
				`{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}}`,
				`[{"type": "function", "function": {"name": "add", "parameters": {"x": 1}}}]`,
				`I have {"name": "add", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}.`,
				`{"a": {"b": {"name": "add", "parameters": {}}}} {"c": [[{"name": "add", "parameters": {}}]]}`,
			)),
			inEach([]string{"llama", "llama/repair", "fenced"}, []misread{
				{reply: "{\"log\": [{\"name\": \"add\", \"parameters\": {\"x\": 1}}]}\n{\"name\": \"add\", \"parameters\": {\"x\": 2}}", want: parts(textPart(`{"log": [{"name": "add", "parameters": {"x": 1}}]}`), callPart("call_1", "add", `{"x": 2}`))},
			}),
			inEach([]string{"llama", "llama/unknown", "llama/repair", "fenced", "fenced/unknown", "fenced/repair"}, slices.Concat(textsThatStay(nearlyJSON...), besideBrackets)),
			inEach([]string{"llama", "llama/unknown"}, []misread{
				{reply: "[" + addCall + "]", want: parts(textPart("["), addsOne, textPart("]"))},
				{reply: `{"log": oops {"name": "add", "parameters": {"x": 1}}`, want: parts(textPart(`{"log": oops`), callPart("call_1", "add", `{"x": 1}`))},
			}),
		),
		none: map[string]string{
			"xml": "a call has tags", "react": "a call has labels", "hermes": "a call has marks", "pythonic": "a call is no JSON",
			"mistral": "an array begins the reply", "think": "as its policy reads it", "chain": "as its policies read it",
		},
	},
	{
		name: "chain", title: "a call that another policy of a chain takes for an error at byte 0",
		cases: inEach([]string{"chain/repair", "chain/turned", "chain/mistral"}, []misread{
			{reply: userCall, want: parts(redUsers)},
			{reply: "I look.\n" + userCall + " Done.", want: parts(textPart("I look."), redUsers, textPart("Done."))},
			{reply: `I look. <tool_call>{"name":"list_users","arguments":{"team":"red"}}`, want: parts(textPart("I look."), redUsers)},
			{reply: "I look.\n<tool_call>\n{\"name\":\"list_users\",\"arguments\":{\"team\":\"red\"}\n</tool_call>", want: parts(textPart("I look."), redUsers)},
			{reply: "I look. <tool_call>[list_users(team='red')]", want: parts(textPart("I look."), redUsers)},
		}),
		none: map[string]string{
			"fenced": "alone", "xml": "alone", "react": "alone", "hermes": "alone", "llama": "alone", "pythonic": "alone", "mistral": "alone", "think": "alone",
		},
	},
	{
		name: "empty tag", title: "`<function=list_users/>`, `<function=\"list_users\">`, `<list_users/>`",
		cases: slices.Concat(
			inEach([]string{"hermes", "hermes/unknown", "hermes/open"}, []misread{
				{reply: "<tool_call><function=list_users/></tool_call>", want: parts(allUsers)},
				{reply: "<tool_call>\n<function=list_users />\n</function>\n</tool_call>", want: parts(allUsers)},
				{reply: `<tool_call><function="list_users"><parameter="team">red</parameter></function></tool_call>`, want: parts(redUsers)},
				{reply: `<tool_call><function='list_users'></function></tool_call>`, want: parts(allUsers)},
			}),
			inEach([]string{"hermes", "xml", "llama", "pythonic"}, []misread{
				{reply: "<function=list_users/> Done.", want: parts(allUsers, textPart("Done."))},
				{reply: `<function="list_users"><parameter="team">red</parameter></function>`, want: parts(redUsers)},
			}),
			inEach([]string{"xml"}, []misread{
				{reply: "I look. <list_users/>", want: parts(textPart("I look."), allUsers)},
				{reply: "<list_users />", want: parts(allUsers)},
				{reply: "Use `<list_users/>` for it.", want: parts(textPart("Use `<list_users/>` for it."))},
				{reply: "> <list_users/>\n    <list_users/>", want: parts(textPart("> <list_users/>\n    <list_users/>"))},
				{reply: "A tag <add/> needs more, and <drop/> is unknown.", want: parts(textPart("A tag <add/> needs more, and <drop/> is unknown."))},
				{reply: `\<list_users/>`, want: parts(textPart("<list_users/>"))},
			}),
		),
		none: map[string]string{
			"fenced": "it has no tags", "react": "it has no tags", "mistral": "it has no tags", "think": "as its policy reads it", "chain": "as its policies read it",
		},
	},
	{
		name: "parameters", title: "a block or an object with the key `parameters` in place of `arguments`",
		cases: slices.Concat(
			inEach([]string{"fenced", "fenced/repair"}, []misread{
				{reply: "```json\n{\"name\": \"list_users\", \"parameters\": {\"team\": \"red\"}}\n```", want: parts(users)},
				{reply: "```\n[{\"name\": \"list_users\", \"parameters\": {\"team\": \"red\"}}, {\"name\": \"add\", \"arguments\": {\"x\":1}}]\n```", want: parts(users, callPart("call_2", "add", `{"x":1}`))},
				{reply: "```tool_call\n{\"name\": \"list_users\", \"parameters\": {\"team\": \"red\"}}\n```", want: parts(users)},
				{reply: "I call {\"name\": \"list_users\", \"parameters\": {\"team\": \"red\"}}.", want: parts(textPart("I call"), users, textPart("."))},
			}),
			inEach([]string{"fenced", "fenced/repair"}, textsThatStay(
				"```json\n{\"name\": \"drop\", \"parameters\": {\"team\": \"red\"}}\n```",
				"```json\n{\"name\": \"add\", \"parameters\": {\"type\": \"object\", \"properties\": {\"x\": {}}}}\n```",
				"```json\n{\"name\": \"add\", \"description\": \"Adds.\", \"parameters\": {}}\n```",
				"Write `{\"name\": \"add\", \"parameters\": {\"x\": 1}}` there.",
			)),
			inEach([]string{"fenced/unknown"}, textsThatStay("```json\n{\"name\": \"list_users\", \"parameters\": {\"team\": \"red\"}}\n```")),
			inEach([]string{"hermes"}, []misread{{reply: `<tool_call>{"name": "list_users", "parameters": {"team": "red"}}</tool_call>`, want: parts(users)}}),
			inEach([]string{"mistral"}, []misread{{reply: `[TOOL_CALLS][{"name": "list_users", "parameters": {"team": "red"}}]`, want: parts(users)}}),
			inEach([]string{"llama"}, []misread{{reply: `{"name": "list_users", "arguments": {"team": "red"}}`, want: parts(users)}}),
		),
		none: map[string]string{
			"xml": "its keys are tags", "react": "its keys are labels", "pythonic": "it has no keys", "think": "as its policy reads it", "chain": "as its policies read it",
		},
	},
	{
		name: "function forms", title: "JSON in `<function=…>`, and two functions in one `<tool_call>`",
		cases: slices.Concat(
			inEach([]string{"hermes", "hermes/unknown", "hermes/open", "hermes/repair"}, []misread{
				{reply: `<tool_call><function=list_users>{"team": "red"}</function></tool_call>`, want: parts(users)},
				{reply: "<tool_call>\n<function=list_users>\n{\"team\": \"red\"}\n</tool_call>", want: parts(users)},
				{reply: "<tool_call><function=list_users><parameter=team>red</parameter></function>\n<function=add>{\"x\":1}</function></tool_call>", want: parts(redUsers, callPart("call_2", "add", `{"x":1}`))},
			}),
			inEach([]string{"hermes/repair", "xml/repair", "llama/repair"}, []misread{{reply: `<function=list_users>{'team': 'red',}</function>`, want: parts(redUsers)}}),
		),
		none: map[string]string{
			"fenced": "it has no tags", "react": "it has no tags", "mistral": "it has no tags", "pythonic": "as without the wrapper",
			"think": "as its policy reads it", "chain": "as its policies read it",
		},
	},
	{
		name: "fence", title: "DeepSeek R1's fence, closed on the line of the JSON",
		cases: inEach([]string{"hermes/deepseek"}, []misread{
			{reply: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_users\n```json\n{\"team\": \"red\"}```<｜tool▁call▁end｜>", want: parts(users)},
			{reply: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>list_users\n```json{\"team\": \"red\"} ```\n<｜tool▁call▁end｜>", want: parts(users)},
		}),
		none: map[string]string{
			"fenced": "it reads such fences", "xml": "it has no fences", "react": "it reads any fence", "llama": "it has no fences", "pythonic": "it has no fences",
			"mistral": "it has no fences", "think": "as its policy reads it", "chain": "as its policies read it",
		},
	},
	{
		name: "apostrophe", title: "`\\'` in a string of JSON, with `ModeRepair`",
		cases: func() (all []misread) {
			want := parts(callPart("call_1", "list_users", `{"team":"it's red"}`))
			const object = `{"team":"it\'s red"}`
			for policy, reply := range map[string]string{
				"fenced/repair":  "```tool_call\n{\"name\":\"list_users\",\"arguments\":" + object + "}\n```",
				"xml/repair":     "<tool_call><name>list_users</name><arguments>" + object + "</arguments></tool_call>",
				"react/repair":   "Action: list_users\nAction Input: " + object,
				"hermes/repair":  `<tool_call>{"name":"list_users","arguments":` + object + `}</tool_call>`,
				"llama/repair":   `{"name":"list_users","parameters":` + object + `}`,
				"mistral/repair": `[TOOL_CALLS][{"name":"list_users","arguments":` + object + `}]`,
				"chain/repair":   `<tool_call>{"name":"list_users","arguments":` + object + `}</tool_call>`,
			} {
				all = append(all, misread{policy, reply, want})
			}
			return all
		}(),
		none: map[string]string{"pythonic": "Python has this escape", "think": "as its policy reads it"},
	},
	{
		name: "leading thought", title: "a thought that has an end, but no beginning",
		cases: slices.Concat(
			inEach([]string{"hermes/any", "hermes/open", "think", "think/open"}, []misread{
				{reply: "Let me see.</think>Hello.", want: parts(thoughtPart("Let me see."), textPart("Hello."))},
				{reply: "\nNot " + userCall + ".\n</think>\n" + userCall, want: parts(thoughtPart("Not "+userCall+"."), redUsers)},
			}),
			inEach([]string{"hermes/any", "think"}, []misread{
				{reply: "Hello. " + userCall, want: parts(textPart("Hello."), redUsers)},
				{reply: "Hello. <think>Hm.</think>Bye.</think>", want: parts(textPart("Hello."), thoughtPart("Hm."), textPart("Bye.</think>"))},
				{reply: `\</think> ends it.`, want: parts(textPart("</think> ends it."))},
				{reply: `<tool_call>{"name":"list_users","arguments":{"team":"</think>"}}</tool_call>`, want: parts(callPart("call_1", "list_users", `{"team":"</think>"}`))},
			}),
		),
		none: map[string]string{
			"fenced": "within Think", "xml": "within Think", "llama": "within Think", "pythonic": "within Think", "mistral": "within Think", "react": "within Think", "chain": "within Think",
		},
	},
}

// inEach returns the cases for each of these policies.
func inEach(policies []string, cases []misread) (all []misread) {
	for _, policy := range policies {
		for _, c := range cases {
			c.policy = policy
			all = append(all, c)
		}
	}
	return all
}

// textsThatStay are replies that hold nothing but text.
func textsThatStay(texts ...string) (all []misread) {
	for _, t := range texts {
		all = append(all, misread{reply: t, want: parts(textPart(t))})
	}
	return all
}

// TestS2_14_Misreadings reads the replies of each class, whole and cut at any place.
func TestS2_14_Misreadings(t *testing.T) {
	for _, m := range misreadings {
		for _, c := range m.cases {
			t.Run(m.name+"/"+c.policy, func(t *testing.T) { c.check(t, prove.DepthOr(7, 1)) })
		}
	}
}

// check reads the reply, whole and cut into pieces of sizes that lie so far apart.
func (c misread) check(t *testing.T, apart int) {
	t.Helper()
	p := knowing(c.policy)
	require.NotNil(t, p, c.policy)
	doc, err := p.ParseResponse(c.reply)
	require.NoError(t, err, "%s", c.reply)
	require.Equal(t, c.want, doc.Contents(), "%s", c.reply)
	l := lawful{Policy: p, name: c.policy, drops: strings.HasPrefix(c.policy, "react")}
	for size := 0; size < min(len(c.reply), 40); size += apart {
		if l.drops || !strings.HasPrefix(c.policy, "hermes/") {
			checkReply(t, l, c.reply, size)
		}
		checkPieces(t, l, c.reply, size+1)
	}
}

// TestS2_12_PlainTextsHoldNoCalls reads replies that hold no call, with tools whose names are words
// and tags of these replies: none is found in any of them.
func TestS2_12_PlainTextsHoldNoCalls(t *testing.T) {
	defs := slices.Clone(teamTools)
	for _, name := range []string{"search", "read", "function", "name", "parameters", "a", "p", "code", "div", "br", "item", "result", "answer", "step"} {
		defs = append(defs, tools.Definition{Name: name})
	}
	eachCorpus(t, func(t *testing.T, c corpus) {
		for file := range recordedContents[c.name] {
			for _, l := range corpusLines[recordedText](t, c, "text/"+file) {
				for _, p := range policies(t) {
					if p.tools != nil || p.turns {
						continue
					}
					doc, _ := withTools(p.Policy, defs).ParseResponse(l.Text)
					for _, part := range doc.Parts {
						_, called := part.Content.(messages.ToolCall)
						require.False(t, called, "%s: %s: %+v", p.name, file, part)
					}
				}
			}
		}
	})
}

// withTools returns a policy without tools for replies in which these may be called.
func withTools(p markdownpolicy.Policy, defs []tools.Definition) markdownpolicy.Policy {
	return p.(markdownpolicy.Tooled).WithTools(defs)
}
