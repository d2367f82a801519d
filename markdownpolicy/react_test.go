package markdownpolicy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// reactTools are tools with each kind of parameters that matters to ReAct.
var reactTools = []tools.Definition{
	{Name: "search", Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)},
	{Name: "count", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
	{Name: "ratio", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`)},
	{Name: "book", Parameters: json.RawMessage(`{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}},"required":["from","to"]}`)},
	{Name: "list", Parameters: json.RawMessage(`{"type":"object","properties":{"items":{"type":"array"}},"required":["items"]}`)},
	{Name: "now"},
}

// reactCase is a reply and the turn that it gives.
type reactCase struct {
	text       string
	tool, args string // of the action
	answer     string
	thought    string
	missing    string // then there is an error
	refused    bool   // there is an error
	implicit   bool
	invented   bool
	kept       string // "" means the whole text, without surrounding blanks
}

func (c reactCase) check(t *testing.T, p markdownpolicy.ReAct) {
	t.Helper()
	turn, err := p.ParseTurn(c.text)
	if c.missing != "" || c.refused {
		parseErr, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok, "%q: %v", c.text, err)
		require.Equal(t, "react", parseErr.Policy)
		require.NotEmpty(t, parseErr.Feedback())
	} else {
		require.NoError(t, err, "%q", c.text)
	}
	require.Equal(t, c.missing, turn.Missing, "%q", c.text)
	if c.tool == "" {
		require.Nil(t, turn.Action, "%q", c.text)
	} else {
		require.NotNil(t, turn.Action, "%q", c.text)
		require.Equal(t, messages.ToolCall{ID: "call_1", Name: c.tool, Arguments: c.args}, *turn.Action, "%q", c.text)
	}
	if c.answer == "" {
		require.True(t, turn.Answer == nil || *turn.Answer == "", "%q: %v", c.text, turn.Answer)
	} else {
		require.NotNil(t, turn.Answer, "%q", c.text)
		require.Equal(t, c.answer, *turn.Answer, "%q", c.text)
	}
	require.Equal(t, c.implicit, turn.Implicit, "%q", c.text)
	require.Equal(t, c.invented, turn.Invented, "%q", c.text)
	if c.thought != "" {
		require.Equal(t, c.thought, turn.Thought, "%q", c.text)
	}
	if c.kept == "" {
		c.kept = strings.TrimSpace(c.text)
	}
	require.Equal(t, c.kept, turn.Kept, "%q", c.text)
}

func TestS1_21_react(t *testing.T) {
	p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Tools: reactTools}}
	open := markdownpolicy.ReAct{}
	table := []struct {
		row   string
		p     markdownpolicy.ReAct
		cases []reactCase
	}{
		{"a names with spaces", open, []reactCase{
			{text: "Thought: t\nAction: Delegate work to coworker\nAction Input: {\"task\":\"t\"}", tool: "Delegate work to coworker", args: `{"task":"t"}`, thought: "t"},
		}},
		{"b a reply in a code block", open, []reactCase{
			{text: "```\nThought: t\nAction: a\nAction Input: {\"x\":1}\n```", tool: "a", args: `{"x":1}`, thought: "t", kept: "Thought: t\nAction: a\nAction Input: {\"x\":1}"},
			{text: "```\nThought: t\nAction: a\nAction Input: {\"x\":1}\n", tool: "a", args: `{"x":1}`, thought: "t", kept: "Thought: t\nAction: a\nAction Input: {\"x\":1}"},
			{text: "```text\nThought: t\nFinal Answer: 42\n```\n", answer: "42", thought: "t", kept: "Thought: t\nFinal Answer: 42"},
			{text: "```\nFinal Answer: run\n```sh\nls\n```\n```", answer: "run\n```sh\nls\n```", kept: "Final Answer: run\n```sh\nls\n```"},
			{text: "```\nFinal Answer: run\n```sh\nls\n```", answer: "run\n```sh\nls\n```", kept: "Final Answer: run\n```sh\nls\n```"},
			{text: "Let me see.\n```\nAction: a\nAction Input: x y\n```", tool: "a", args: `"x y"`, thought: "Let me see.", kept: "Let me see.\n```\nAction: a\nAction Input: x y"},
			{text: "```\nAction: a\n```", tool: "a", args: "{}", kept: "Action: a"},
		}},
		{"c invented observations", open, []reactCase{
			{text: "Thought: t\nAction: a\nAction Input: {}\nObservation: 42\nThought: u\nFinal Answer: 42", tool: "a", args: "{}", thought: "t", invented: true, kept: "Thought: t\nAction: a\nAction Input: {}"},
			{text: "Action: a\nAction Input: {}\nObservation:", tool: "a", args: "{}", kept: "Action: a\nAction Input: {}"},
			{text: "Action: a\nAction Input: x\nAction: b\nAction Input: y", tool: "a", args: `"x"`, kept: "Action: a\nAction Input: x"},
			{text: "```\nAction: a\nAction Input: {}\nObservation: 1\n```\n\n```\nAction: b\nAction Input: {}\n```", tool: "a", args: "{}", invented: true, kept: "Action: a\nAction Input: {}"},
			{text: "Final Answer: 42\nObservation: yes\n", answer: "42", invented: true, kept: "Final Answer: 42"},
		}},
		{"d finish", open, []reactCase{
			{text: "Thought: t\nAction: FINISH.\nAction Input: It is 42.\nReally.", answer: "It is 42.\nReally.", thought: "t"},
			{text: "Action: Finish\nAction Input: 42", answer: "42"},
			{text: "Action: finish\nFinal Answer: 42", answer: "42"},
			{text: "Action: FINISH"},
			{text: "Action: **Final Answer**\nAction Input: 42", answer: "42"},
		}},
		{"e final answer", open, []reactCase{
			{text: "Final Answer: 42", answer: "42"},
			{text: "Thought: t\nFinal Answer:\n\n# Report\n\n- Action: act\n- **Thought:** think\n\n```\nx\n```\n", answer: "# Report\n\n- Action: act\n- **Thought:** think\n\n```\nx\n```", thought: "t"},
			{text: "Thought: I know it. Final Answer: 42\nand 43", answer: "42\nand 43", thought: "I know it."},
			{text: "Thought: I know it.\nAnswer: 42", answer: "42", thought: "I know it."},
			{text: "I can say it.\nFinal Answer: 42", answer: "42", thought: "I can say it."},
			{text: "Final Answer:", missing: "Final Answer"},
		}},
		{"f which comes first", open, []reactCase{
			{text: "Final Answer: 42\nAction: a\nAction Input: {}", answer: "42", kept: "Final Answer: 42"},
			{text: "Action: a\nAction Input: {}\nFinal Answer: 42", tool: "a", args: "{}", kept: "Action: a\nAction Input: {}"},
			{text: "Action: a\nFinal Answer: 42", tool: "a", args: "{}", kept: "Action: a"},
			{text: "Thought: Final Answer: 1 is wrong\nAction: a\nAction Input: {}", tool: "a", args: "{}", thought: "Final Answer: 1 is wrong"},
		}},
		{"g no keyword, or no action", open, []reactCase{
			{text: "It is 42: \"Thought\" and all.\n", answer: "It is 42: \"Thought\" and all.", implicit: true},
			{text: "Thought: I will see.", thought: "I will see.", missing: "Action"},
			{text: "Thought: I will see.\nObservation: 42", thought: "I will see.", missing: "Action", invented: true, kept: "Thought: I will see."},
			{text: "Action Input: {}", missing: "Action"},
			{text: "Action:\nAction Input: {}", missing: "Action"},
		}},
		{"h no input", p, []reactCase{
			{text: "Action: now", tool: "now", args: "{}"},
			{text: "Action: now\nAction Input:", tool: "now", args: "{}"},
			{text: "Action: ratio", tool: "ratio", args: "{}"},
			{text: "Action: search", missing: "Action Input"},
			{text: "Action: search\nAction Input:\nObservation: 3", missing: "Action Input", invented: true, kept: "Action: search\nAction Input:"},
		}},
		{"i no thought", p, []reactCase{{text: "Action: search\nAction Input: {\"query\":\"x\"}", tool: "search", args: `{"query":"x"}`}}},
		{"j no action", p, []reactCase{
			{text: "Thought: t\nAction: None", thought: "t", missing: "Final Answer"},
			{text: "Thought: t\nAction: N/A\nAction Input: N/A", thought: "t", missing: "Final Answer"},
			{text: "Thought: t\nAction: None\nAction Input: None\nFinal Answer: 42", thought: "t", answer: "42"},
			{text: "Thought: t\nAction: None\nThought: u\nFinal Answer: 42", thought: "t\n\nu", answer: "42"},
		}},
		{"k objects", p, []reactCase{
			{text: "Action: search\nAction Input:\n```json\n{\"query\": \"x\"}\n```", tool: "search", args: `{"query": "x"}`},
			{text: "Action: search\nAction Input: {'query': True}", tool: "search", args: `{"query":true}`},
			{text: "Action: search\nAction Input: {\"query\": \"x\"} This finds it.", tool: "search", args: `{"query": "x"}`, kept: "Action: search\nAction Input: {\"query\": \"x\"}"},
			{text: "Action: search\nAction Input: {\"query\": \"x\",}", tool: "search", args: `{"query":"x"}`},
			{text: "Action: search\nAction Input: \"{\\\"query\\\": \\\"x\\\"}\"", tool: "search", args: `{"query": "x"}`},
			{text: "Action: search\nAction Input: {\"query\": \"x", missing: "Action Input"},
			{text: "Action: ```json\n{\"action\": \"search\", \"action_input\": {\"query\": \"x\"}}\n```", tool: "search", args: `{"query": "x"}`},
		}},
		{"l plain text", p, []reactCase{
			{text: "Action: search\nAction Input: NBA", tool: "search", args: `{"query":"NBA"}`},
			{text: "Action: search\nAction Input: \"NBA\"", tool: "search", args: `{"query":"NBA"}`},
			{text: "Action: search\nAction Input: {who} <is> & \"what\"", tool: "search", args: `{"query":"{who} <is> & \"what\""}`},
			{text: "Action: book\nAction Input: Paris", missing: "Action Input"},
		}},
		{"m other JSON", p, []reactCase{
			{text: "Action: count\nAction Input: 3", tool: "count", args: `{"n":3}`},
			{text: "Action: count\nAction Input: 3.5", missing: "Action Input"},
			{text: "Action: ratio\nAction Input: 3", tool: "ratio", args: `{"n":3}`},
			{text: "Action: list\nAction Input: [1]", tool: "list", args: `{"items":[1]}`},
			{text: "Action: search\nAction Input: [1]", tool: "search", args: `{"query":"[1]"}`},
			{text: "Action: book\nAction Input: [1]", missing: "Action Input"},
			{text: "Action: now\nAction Input: null", tool: "now", args: "{}"},
			{text: "Action: now\nAction Input: 3", missing: "Action Input"},
			{text: "Action: other\nAction Input: 3", tool: "other", args: `"3"`},
		}},
		{"n one line", p, []reactCase{{text: "Action:  foo Action Input: bar", tool: "foo", args: `"bar"`}}},
		{"o values on lines of their own", open, []reactCase{
			{text: "Action:\nTerminal\n\nAction Input:\nls -l", tool: "Terminal", args: `"ls -l"`},
		}},
		{"p whole inputs", p, []reactCase{
			{
				text: "Action: search\nAction Input: SELECT *\nFROM t -- Thought: why\nWHERE a = 'Observation: b'\nThought: done", tool: "search", args: `{"query":"SELECT *\nFROM t -- Thought: why\nWHERE a = 'Observation: b'"}`,
				kept: "Action: search\nAction Input: SELECT *\nFROM t -- Thought: why\nWHERE a = 'Observation: b'",
			},
			{text: "Action: search\nAction Input: run\n```sh\nls\n```", tool: "search", args: `{"query":"run\n` + "```" + `sh\nls\n` + "```" + `"}`},
			{text: "Action: search\nAction Input: Effect: Allow\nAction: s3:Get\nResource: x", tool: "search", args: `{"query":"Effect: Allow\nAction: s3:Get\nResource: x"}`},
		}},
		{"q numbered", p, []reactCase{
			{text: "Thought 1: I need to search.\nAction 1: Search[Nick Park]", tool: "Search", args: `"Nick Park"`, thought: "I need to search."},
			{text: "Action 1: search[Nick [the] Park].", tool: "search", args: `{"query":"Nick [the] Park"}`, kept: "Action 1: search[Nick [the] Park]"},
			{text: "Action 2: Search[\"Here\"]", tool: "Search", args: `"\"Here\""`},
			{text: "Thought 3: t\nAction 3: Finish[2004]\nObservation 3: Answer is CORRECT", answer: "2004", thought: "t", invented: true, kept: "Thought 3: t\nAction 3: Finish[2004]"},
			{text: "Action 1: a\nAction Input 1: x", tool: "a", args: `"x"`},
			{text: "Action 1: a\nAction 1 Input: x", tool: "a", args: `"x"`},
		}},
		{"r decorated names", p, []reactCase{
			{text: "Action: `search`\nAction Input: x", tool: "search", args: `{"query":"x"}`},
			{text: "Action: \"search\"\nAction Input: x", tool: "search", args: `{"query":"x"}`},
			{text: "Action: [search]  \nAction Input: x", tool: "search", args: `{"query":"x"}`},
			{text: "**Thought:** t\n**Action:** search\n**Action Input**: x", tool: "search", args: `{"query":"x"}`, thought: "t"},
			{text: "  ### Action: **search**\nAction Input: x", tool: "search", args: `{"query":"x"}`},
			{text: "Action: \\None\nAction Input: x", tool: "None", args: `"x"`},
		}},
	}
	for _, row := range table {
		t.Run(row.row, func(t *testing.T) {
			for _, c := range row.cases {
				c.check(t, row.p)
			}
		})
	}
}

func TestS1_20_reactCycle(t *testing.T) {
	p := markdownpolicy.ReAct{}
	turn, err := p.ParseTurn("Thought: I need to check the weather.\nAction: get_weather\nAction Input: {\"location\": \"London\"}")
	require.NoError(t, err)
	require.Equal(t, `{"location": "London"}`, turn.Action.Arguments)
	history := messages.History{
		messages.UserText("How is the weather in London?"),
		messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Text: turn.Thought}, *turn.Action}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "call_1", ToolName: "get_weather", Output: "Sunny, 25C"}},
	}
	plain, err := p.FormatQuery(history)
	require.NoError(t, err)
	require.Equal(t, messages.History{
		history[0],
		messages.AssistantText("Thought: I need to check the weather.\nAction: get_weather\nAction Input: {\"location\": \"London\"}"),
		messages.UserText("Observation: Sunny, 25C\n\nIf all that was asked for is known or done, write the final answer. If not, write the next action."),
	}, plain)

	turn, err = p.ParseTurn("Thought: I have the info.\nAction: FINISH\nAction Input: The weather in London is sunny and 25C.")
	require.NoError(t, err)
	require.Equal(t, "The weather in London is sunny and 25C.", *turn.Answer)
}

func TestS1_25_reactStops(t *testing.T) {
	require.Contains(t, markdownpolicy.ReAct{}.Stop(), "\nObservation:")
	whole, err := markdownpolicy.ReAct{}.ParseTurn("Action: a\nAction Input: x\nObservation: y\nFinal Answer: z")
	require.NoError(t, err)
	stopped, err := markdownpolicy.ReAct{}.ParseTurn("Action: a\nAction Input: x")
	require.NoError(t, err)
	whole.Invented = false
	require.Equal(t, stopped, whole)
}

func TestReActModes(t *testing.T) {
	broken := "Thought: t\nAction: search\nAction Input: {\"query\": [1, 2"
	in := func(m markdownpolicy.Mode) markdownpolicy.ReAct {
		return markdownpolicy.ReAct{Options: markdownpolicy.Options{Mode: m, Tools: reactTools}}
	}
	raw := "Action: search\nAction Input: {\"query\": [1, 2"
	left := []messages.AssistantContent{messages.Thought{Text: "t"}, messages.Text{Text: raw}}

	doc, err := in("").ParseResponse(broken)
	parseErr, ok := errors.AsType[*markdownpolicy.ParseError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 3, parseErr.Line)
	require.Equal(t, left, doc.Contents())

	doc, err = in(markdownpolicy.ModeText).ParseResponse(broken)
	require.NoError(t, err)
	require.Equal(t, left, doc.Contents())
	turn, err := in(markdownpolicy.ModeText).ParseTurn(broken)
	require.NoError(t, err)
	require.Equal(t, raw, *turn.Answer)
	require.True(t, turn.Implicit)

	doc, err = in(markdownpolicy.ModeRepair).ParseResponse("Action: search\nAction Input: {\"query\": [\"a\"]")
	require.NoError(t, err)
	require.Equal(t, `{"query":["a"]}`, doc.Contents()[0].(messages.ToolCall).Arguments)
	require.NotEmpty(t, doc.Repairs)
	require.Equal(t, 2, doc.Repairs[0].Line)
}

func TestReActResults(t *testing.T) {
	call := func(id string) messages.ToolCall { return messages.ToolCall{ID: id, Name: "f", Arguments: "{}"} }
	history := messages.History{
		messages.UserText("q"),
		messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "Both."}, call("1"), call("2")}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", ToolName: "f", Output: "{\"a\": 1}"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "2", ToolName: "f", Output: "no such thing", Status: messages.StatusFailed, Reason: "error"}},
	}
	plain, err := markdownpolicy.ReAct{}.FormatQuery(history)
	require.NoError(t, err)
	require.Equal(t, messages.History{
		history[0],
		messages.AssistantText("Thought: Both.\nAction: f\nAction Input: {}\nAction: f\nAction Input: {}"),
		messages.UserText("Observation (f, 1): {\"a\":1}\nObservation (f, 2): failed (error): no such thing\n\nCorrect the arguments and try again."),
	}, plain)
}

func TestReActNamesWithBrackets(t *testing.T) {
	def := []tools.Definition{{Name: "a[b]", Parameters: []byte(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)}}
	for _, p := range []markdownpolicy.ReAct{{}, {Options: markdownpolicy.Options{Tools: def}}} {
		want := parts(callPart("call_1", "a[b]", `{"x":"y"}`))
		reply := p.Render(want)
		require.Contains(t, reply, `a[b]`)
		require.Equal(t, want, partsOf(t, p, reply))
	}
	p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Tools: def}}
	require.Equal(t, parts(callPart("call_1", "a[b]", `{"x":"y"}`)), partsOf(t, p, "Action: a[b]\nAction Input: {\"x\":\"y\"}"))
}

// Arguments may stand beside the name of a known tool. An Action Input counts instead of them.
func TestReActArgumentsBesideTheName(t *testing.T) {
	p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Tools: append([]tools.Definition{{Name: "odd {x}"}}, reactTools...)}}
	for _, c := range []reactCase{
		{text: `Action: search {"query": "a"}`, tool: "search", args: `{"query": "a"}`},
		{text: `Action: search({"query": "a"})`, tool: "search", args: `{"query": "a"}`},
		{text: `Action: search ( {"query": "a)"} )`, tool: "search", args: `{"query": "a)"}`},
		{text: `Action: search, {"query": "a"}`, tool: "search", args: `{"query": "a"}`},
		{text: `Action: search: {"query": "a"}`, tool: "search", args: `{"query": "a"}`},
		{text: "Thought: t\nAction: count {\"n\": 1}\nObservation: 2", tool: "count", args: `{"n": 1}`, thought: "t", invented: true, kept: "Thought: t\nAction: count {\"n\": 1}"},
		{text: "Action: search {\"query\": \"a\"}\nAction Input: {\"query\": \"b\"}", tool: "search", args: `{"query": "b"}`},
		{text: "Action: search({\"query\": \"a\"})\nAction Input: b", tool: "search", args: `{"query":"b"}`},
		{text: `Action: odd {x}`, tool: "odd {x}", args: "{}"},
		{text: `Action: search {"query": `, missing: "Action Input"},
		{text: `Action: seek {"query": "a"}`, missing: "Action"},
	} {
		c.check(t, p)
	}
	doc, err := p.ParseResponse(`Action: {"query": "a"}`)
	require.Error(t, err)
	require.NotContains(t, doc.Contents(), callPart("call_1", "search", `{"query": "a"}`))
}

func TestReActNullIsNoInputWhereOneIsRequired(t *testing.T) {
	def := []tools.Definition{{Name: "f", Parameters: []byte(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)}, {Name: "g"}}
	p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Tools: def}}
	turn, err := p.ParseTurn("Action: f\nAction Input: null")
	var broken *markdownpolicy.ParseError
	require.ErrorAs(t, err, &broken)
	require.Equal(t, "Action Input", turn.Missing)
	require.Equal(t, parts(callPart("call_1", "g", "{}")), partsOf(t, p, "Action: g\nAction Input: null"))
}

// A Python dict is a valid input in every mode. Any other invalid JSON is repaired in mode repair
// only.
func TestS1_21_reactReadsAndRepairs(t *testing.T) {
	in := func(mode markdownpolicy.Mode, input string) (string, error) {
		p := markdownpolicy.ReAct{Options: markdownpolicy.Options{Mode: mode}}
		doc, err := p.ParseResponse("Action: search\nAction Input: " + input)
		if err != nil {
			return "", err
		}
		require.Len(t, doc.Parts, 1)
		return doc.Contents()[0].(messages.ToolCall).Arguments, nil
	}
	for input, want := range map[string]string{
		`{'a': True, "b": None}`:              `{"a":true,"b":null}`,
		`{"a": "x",}`:                         `{"a":"x"}`,
		`{'a': ('it\'s', 1), 2: "x\n"}`:       `{"a":["it's",1],"2":"x\n"}`,
		"```json\n{'a': [1, 2,]}\n``` So.":    `{"a":[1,2]}`,
		"{'a': 1} // 60":                      `{"a":1}`,
		`{"a": "b\/c", "u": "\u00e9"}`:        `{"a": "b\/c", "u": "\u00e9"}`,
		`{'command': 'echo \'it\'\\\'\'s\''}`: `{"command":"echo 'it'\\''s'"}`,
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
			got, err := in(mode, input)
			require.NoError(t, err, input)
			require.Equal(t, want, got)
		}
	}
	for input, want := range map[string]string{ // "": it is refused in mode repair too
		`{"a": {"b": 1}`:                `{"a":{"b":1}}`,
		"{\"a\": \"x\ny\"}":             `{"a":"x\ny"}`,
		"{\"a\": 1 // one\n}":           `{"a":1}`,
		"{\"a\": \"x\"\n\"b\": 1}":      `{"a":"x","b":1}`,
		`{"a": 1, b: 2}`:                `{"a":1,"b":2}`,
		`{"a": “x”}`:                    `{"a":"x"}`,
		`{"a": "b\/c",}`:                `{"a":"b\/c"}`,
		`{"a": "x\x41"}`:                "",
		`{"command":"echo 'it'\''s'"}`:  "",
		"{\"n\": 90 // 60\n}":           "",
		"{\"n\": 90 # 60\n}":            "",
		"{\"t\": (\"a \"\n\"b\", 1)}":   "",
		"{\"a\": \"print(\"\n\"x\": 1}": "",
		`{'a': 1, 'a': 2}`:              "",
		`{'a': (1)}`:                    "",
	} {
		_, err := in(markdownpolicy.ModeError, input)
		broken, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok, "%s: %v", input, err)
		require.Equal(t, "react", broken.Policy)
		got, err := in(markdownpolicy.ModeRepair, input)
		require.Equal(t, want == "", err != nil, input)
		require.Equal(t, want, got, input)
	}
}

func TestReActActionAsAnObjectThatCannotBeRead(t *testing.T) {
	in := func(mode markdownpolicy.Mode) markdownpolicy.ReAct {
		return markdownpolicy.ReAct{Options: markdownpolicy.Options{Mode: mode}}
	}
	const nearly = "Action: {\"action\": \"f\", \"action_input\": {\"a\": \"x\ny\"}}"
	_, err := in(markdownpolicy.ModeError).ParseResponse(nearly)
	require.Error(t, err)
	require.Equal(t, parts(textPart(nearly)), partsOf(t, in(markdownpolicy.ModeText), nearly))
	doc, err := in(markdownpolicy.ModeRepair).ParseResponse(nearly)
	require.NoError(t, err)
	require.Equal(t, parts(callPart("call_1", "f", `{"a":"x\ny"}`)), doc.Contents())
	require.NotEmpty(t, doc.Repairs)

	_, err = in(markdownpolicy.ModeRepair).ParseResponse(`Action: {"action": "f", "action_input": {"a": 1}`)
	require.ErrorContains(t, err, "with its end", "more of it may be missing")
}
