package markdownpolicy_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

// Members beside empty arguments may be meant as the arguments: they are not lost.
func TestS2_9_KeysBesideEmptyArguments(t *testing.T) {
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
		for _, nothing := range []string{``, `"arguments":null,`, `"arguments":"",`, `"arguments":" \n",`, `"arguments":"null",`} {
			call := `{"name":"t",` + nothing + `"city":"Paris"}`
			doc, err := markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: mode}).ParseResponse("<tool_call>" + call + "</tool_call>")
			broken, ok := errors.AsType[*markdownpolicy.ParseError](err)
			require.True(t, ok, call)
			require.Contains(t, broken.Found, `"city"`)
			require.Len(t, doc.Parts, 1, "the text is kept")
		}
	}
	for _, said := range []string{`"arguments":{},`, `"arguments":"{}",`, `"arguments":{"day":1},`} {
		_, _, err := markdownpolicy.ReadCall(`{"name":"t",`+said+`"city":"Paris"}`, markdownpolicy.ModeError, "name", "arguments")
		require.NotNil(t, err)
		require.Equal(t, `"city" beside "arguments"`, err.Found)
	}
	for _, nothing := range []string{`null`, `""`, `"null"`, `{}`, `"{}"`} {
		call, repairs, err := markdownpolicy.ReadCall(`{"type":"function","name":"t","arguments":`+nothing+`}`, markdownpolicy.ModeError, "name", "arguments")
		require.Nil(t, err)
		require.Empty(t, repairs)
		require.Equal(t, "{}", call.Arguments)
	}
	for _, nothing := range []string{``, `"action_input":null,`, `"action_input":"",`} {
		_, err := markdownpolicy.ReAct{}.ParseResponse(`Action: {"action":"t",` + nothing + `"city":"Paris"}`)
		broken, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok, nothing)
		require.Contains(t, broken.Found, `"city"`)
	}
	require.Len(t, partsOf(t, markdownpolicy.ReAct{}, `Action: {"action":"t","action_input":null}`), 1)
}

// The text of an error does not depend on how much of the reply had come when it was found.
func TestS2_20_ErrorsInPieces(t *testing.T) {
	for _, reply := range []string{
		"<tool_call>this is no call, but a long text that goes on and on, behind what an error shows of it, and then on</tool_call>",
		"<tool_call><name>t</name> then some text that does not belong here, and is longer than what an error shows of it, by far",
		"<tool_call>{\"name\":\"t\",\"arguments\":{}} and some text that does not belong here, and is longer than what an error shows of it",
		"[TOOL_CALLS] and some text that is no call, and is longer than what an error shows of it, by far, and still goes on",
		"[TOOL_CALLS]\nno call\n",
		"```tool_call\n{\"name\":1}\n```\nAnd then some more text, which is longer than what an error shows of it, by far.",
		"[t(a=b)] and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on",
		"{\"name\":\"t\",\"parameters\":3} and so on, and so on, and so on, and so on, and so on, and so on, and so on",
		"Action: t\nAction Input: {\"a\":\nObservation: and so on, and so on, and so on, and so on, and so on, and so on",
	} {
		broken := 0
		for _, l := range append(policies(t), lawful{Policy: chainOfAll(t, nil), name: "chain/all", mixes: true, drops: true}) {
			if _, err := l.ParseResponse(reply); err != nil {
				broken++
			}
			for size := 0; size < 20; size += prove.DepthOr(4, 1) {
				checkReply(t, l, reply, size)
			}
		}
		require.NotZero(t, broken, reply)
	}
}

// The formats can express every tool name that providers accept, whether or not the tools are
// known.
func TestS2_1_NamesOfTools(t *testing.T) {
	prove.Checks(t, prove.Cases()/2)
	for _, name := range markdownpolicy.Names() {
		rapid.Check(t, func(t *rapid.T) {
			tool := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_-]{1,64}`), rapid.StringMatching(`[a-zA-Z0-9_-]{64}`), rapid.StringMatching(`[0-9-]{1,3}`),
				rapid.SampledFrom([]string{"fs.read-file", "get-weather", "-", "_", "--", "1", "None", "none", "True", "Finish", "null", "think", "tool_call", "name", "thought", "json", "function"})).Draw(t, "name")
			call := parts(callPart("", tool, arguments.Draw(t, "arguments")))
			if rapid.Bool().Draw(t, "two") && name != "react" {
				call = append(call, callPart("", tool, "{}"))
			}
			for _, defs := range [][]tools.Definition{nil, {{Name: tool}}, {{Name: "other"}, {Name: tool, Parameters: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}} {
				p, err := markdownpolicy.New(name, markdownpolicy.Options{Tools: defs})
				require.NoError(t, err)
				checkRoundTrip(t, p, call)
				checkRoundTrip(t, p, append(parts(thoughtPart("So.")), call...))
				if name != "react" {
					checkRoundTrip(t, p, append(parts(textPart("So.")), call...))
				}
			}
		})
	}
}

// If two members of a call have the same name, it is unknown which is meant.
func TestS2_9_WhatStandsTwiceInACall(t *testing.T) {
	for _, c := range []struct {
		policy, reply, expected string
	}{
		{"hermes", `<tool_call>{"name":"a","name":"b","arguments":{"x":1}}</tool_call>`, `"name" only once`},
		{"hermes", `<tool_call>{"name":"a","arguments":{"x":1},"arguments":{"y":2}}</tool_call>`, `"arguments" only once`},
		{"hermes", `<tool_call>{"name":"a","arguments":{"x":1},"\u0061rguments":{"x":1}}</tool_call>`, `"arguments" only once`},
		{"hermes", `<tool_call>[{"name":"a"},{"name":"a","Name":"b"}]</tool_call>`, `"Name" only once`},
		{"hermes", `<tool_call>{"name":"a","parameters":{},"parameters":{"y":2}}</tool_call>`, `"parameters" only once`},
		{"hermes", `<tool_call>{"function":{"name":"a"},"function":{"name":"b"}}</tool_call>`, `"function" only once`},
		{"hermes", `<tool_call>{"name":"a","name":"b","function":{"name":"c"}}</tool_call>`, `"name" only once`},
		{"hermes", `<tool_call>{"function":{"name":"a","name":"b"}}</tool_call>`, `"name" only once`},
		{"hermes", "<tool_call><function=f><parameter=a>1</parameter><parameter=b>1</parameter><parameter=a>1</parameter></function></tool_call>", "<parameter=a> only once"},
		{"gemma", "<start_function_call>call:f{a:<escape>x<escape>,a:2}<end_function_call>", "each key only once"},
		{"gemma", "<start_function_call>call:f{b:[{a:1,a:2}]}<end_function_call>", "each key only once"},
		{"fenced", "```tool_call\n{\"name\":\"a\",\"name\":\"b\",\"arguments\":{}}\n```", `"name" only once`},
		{"mistral", `[TOOL_CALLS][{"name":"a","arguments":{},"arguments":{}}]`, `"arguments" only once`},
		{"llama", `{"name":"a","name":"b","parameters":{}}`, `"name" only once`},
		{"llama", `{"name":"a","parameters":{},"parameters":{}}`, `"parameters" only once`},
		{"react", `Action: {"action":"a","action":"b","action_input":{}}`, `"action" only once`},
		{"react", `Action: {"action":"Finish","action_input":"a","action_input":"b"}`, `"action_input" only once`},
	} {
		in := func(mode markdownpolicy.Mode) markdownpolicy.Policy {
			o := markdownpolicy.Options{Mode: mode}
			if c.policy == "gemma" {
				return markdownpolicy.FunctionGemma.With(o)
			}
			p, err := markdownpolicy.New(c.policy, o)
			require.NoError(t, err)
			return p
		}
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
			_, err := in(mode).ParseResponse(c.reply)
			broken, ok := errors.AsType[*markdownpolicy.ParseError](err)
			require.True(t, ok, c.reply)
			require.Contains(t, broken.Expected, c.expected, c.reply)
		}
		require.Equal(t, parts(textPart(c.reply)), partsOf(t, in(markdownpolicy.ModeText), c.reply))
	}
	const within = `<tool_call>{"name":"a","arguments":{"x":1,"x":2}}</tool_call>`
	require.Equal(t, parts(callPart("call_1", "a", `{"x":1,"x":2}`)), partsOf(t, markdownpolicy.Hermes, within), "what stands in the arguments is for the tool")
}

// The text of an error names the policy, if it is one of a policy.
func TestParseError(t *testing.T) {
	broken := markdownpolicy.ParseError{Policy: "xml", Line: 2, Offset: 9, Expected: "a call", Found: "x"}
	require.EqualError(t, &broken, `markdownpolicy: xml: line 2 (byte 9): expected a call, found "x"`)
	broken.Policy = ""
	require.EqualError(t, &broken, `markdownpolicy: line 2 (byte 9): expected a call, found "x"`)
}
