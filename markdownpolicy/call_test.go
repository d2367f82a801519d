package markdownpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

func TestS2_8_BrokenCallByMode(t *testing.T) {
	const text = `{"name":"t","arguments":{`
	_, _, err := markdownpolicy.ReadCall(text, markdownpolicy.ModeError, "name", "arguments")
	require.NotNil(t, err)
	require.Equal(t, len(text), err.Offset)
	require.Contains(t, err.Expected, `"arguments"`)
	require.Error(t, err.Err)

	call, repairs, err := markdownpolicy.ReadCall(text, markdownpolicy.ModeRepair, "name", "arguments")
	require.Nil(t, err)
	require.Equal(t, messages.ToolCall{Name: "t", Arguments: "{}"}, call)
	require.Equal(t, []markdownpolicy.Repair{
		{Offset: len(text), What: "added the missing } at the end"},
		{Offset: len(text), What: "added the missing } at the end"},
	}, repairs)

	_, _, err = markdownpolicy.ReadCall(`{"name":"t","arguments":{"a":"b`, markdownpolicy.ModeRepair, "name", "arguments")
	require.NotNil(t, err, "the string may have been cut off")
	require.ErrorContains(t, err.Err, "more than one way")
}

func TestS2_9_Arguments(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"t"}`:                                         `{}`,
		`{"name":"t","arguments":null}`:                        `{}`,
		`{"name":"t","arguments":""}`:                          `{}`,
		`{"name":"t","arguments":{"a" :  1.50}}`:               `{"a" :  1.50}`,
		`{"arguments":{"name":"x"},"name":"t"}`:                `{"name":"x"}`,
		`{"name":"t","arguments":"{\"param\":\"x\"}"}`:         `{"param":"x"}`,
		`{"name":"t","arguments":"{\"a\":\"{\\\"b\\\":1}\"}"}`: `{"a":"{\"b\":1}"}`,
		`{"id":"x","type":"function","name":"t"}`:              `{}`,
		`{"index":0,"name":"t","arguments":null}`:              `{}`,
		`{"id":"x","tool_call_id":"y","type":"function","index":0,"name":"t","arguments":{"a":1},"call_id":null}`: `{"a":1}`,
	} {
		call, repairs, err := markdownpolicy.ReadCall(text, markdownpolicy.ModeError, "name", "arguments")
		require.Nil(t, err, text)
		require.Empty(t, repairs)
		require.Equal(t, messages.ToolCall{Name: "t", Arguments: want}, call, text)
	}
	call, _, err := markdownpolicy.ReadCall(`{"name":"t","parameters":{"a":1}}`, markdownpolicy.ModeError, "name", "arguments", "parameters")
	require.Nil(t, err)
	require.Equal(t, `{"a":1}`, call.Arguments, "where the policy says so")
	for _, nothing := range []string{`null`, `""`, `{ }`, `"{}"`} {
		call, _, err = markdownpolicy.ReadCall(`{"name":"t","parameters":`+nothing+`,"arguments":{"b":2}}`, markdownpolicy.ModeError, "name", "arguments", "parameters")
		require.Nil(t, err)
		require.Equal(t, `{"b":2}`, call.Arguments)
	}
	_, _, err = markdownpolicy.ReadCall(`{"name":"t","parameters":{"a":1},"arguments":{"b":2}}`, markdownpolicy.ModeError, "name", "arguments", "parameters")
	require.NotNil(t, err)
	require.Equal(t, `"parameters" beside "arguments"`, err.Found)
}

func TestS2_9_NotACall(t *testing.T) {
	for _, text := range []string{
		`{"arguments":{}}`, `{"name":"","arguments":{}}`, `{"name":1,"arguments":{}}`, `{"Name":"t"}`, `[]`, `"t"`, ``,
		`{"name":"t","arguments":"x"}`, `{"name":"t","arguments":[1]}`, `{"name":"t","arguments":3}`, `{"name":"t","arguments":"[1]"}`,
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			_, _, err := markdownpolicy.ReadCall(text, mode, "name", "arguments")
			require.NotNil(t, err, text)
			require.NotEmpty(t, err.Expected)
		}
	}
}

func TestS2_9_RepairsWithinAString(t *testing.T) {
	call, repairs, err := markdownpolicy.ReadCall(`{"name":"t","arguments":"{'a': True}"}`, markdownpolicy.ModeRepair, "name", "arguments")
	require.Nil(t, err)
	require.Equal(t, `{"a":true}`, call.Arguments)
	require.Len(t, repairs, 2)
	require.Equal(t, 24, repairs[0].Offset)
}

func TestS2_13_EntitiesAreLeftAlone(t *testing.T) {
	const arguments = `{"html":"&lt;b&gt; &amp;quot; <b>\u003c"}`
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
		call, repairs, err := markdownpolicy.ReadCall(`{"name":"t","arguments":`+arguments+`}`, mode, "name", "arguments")
		require.Nil(t, err)
		require.Empty(t, repairs)
		require.Equal(t, arguments, call.Arguments)
		require.Contains(t, markdownpolicy.WriteCall(call), arguments)
	}
}

// anyJSON draws a JSON value.
func anyJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.String().AsAny(),
		rapid.StringMatching("[a-z'\"\\\\{}, \n]{0,8}").AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(append(scalars, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.StringN(0, 5, 20), inner, 0, 4).AsAny())...)
}

func TestS2_1_CallsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arguments, err := json.Marshal(rapid.MapOfN(rapid.String(), anyJSON(2), 0, 4).Draw(t, "arguments"))
		require.NoError(t, err)
		want := messages.ToolCall{Name: rapid.StringN(1, 20, 40).Draw(t, "name"), Arguments: string(arguments)}
		text := markdownpolicy.WriteCall(want)
		require.NotContains(t, text, "\n")
		got, repairs, perr := markdownpolicy.ReadCall(text, markdownpolicy.ModeError, "name", "arguments")
		require.Nil(t, perr, text)
		require.Empty(t, repairs)
		require.Equal(t, want, got)
	})
	require.Equal(t, `{"name": "t", "arguments": "{broken\n"}`, markdownpolicy.WriteCall(messages.ToolCall{Name: "t", Arguments: "{broken\n"}))
	require.Equal(t, `{"name": "t", "arguments": {"a":1}}`, markdownpolicy.WriteCall(messages.ToolCall{Name: "t", Arguments: "{\n \"a\": 1\n}"}))
	require.Equal(t, `{"name": "t", "arguments": {}}`, markdownpolicy.WriteCall(messages.ToolCall{Name: "t"}))
}

func TestS2_9_ArgumentsElsewhereAreNotNone(t *testing.T) {
	for text, keys := range map[string]string{
		`{"name":"add","parameters":{"a":1}}`:             `"parameters"`,
		`{"name":"add","args":{"a":1}}`:                   `"args"`,
		`{"name":"add","a":1,"b":2}`:                      `"a", "b"`,
		`{"name":"add","arguments":null,"input":{"a":1}}`: `"input"`,
		`{"id":"1","a":1,"name":"add"}`:                   `"a"`,
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
			_, _, err := markdownpolicy.ReadCall(text, mode, "name", "arguments")
			require.NotNil(t, err, text)
			require.Contains(t, err.Expected, `"arguments"`)
			require.Equal(t, "no arguments but "+keys, err.Found)

			reply := "<tool_call>" + strings.Replace(text, "parameters", "params", 1) + "</tool_call>"
			_, perr := markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: mode}).ParseResponse(reply)
			require.Error(t, perr, reply)
		}
	}
	const reply = `<tool_call>{"name":"add","args":{"a":1}}</tool_call>`
	hermes := markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText})
	require.Equal(t, parts(textPart(reply)), partsOf(t, hermes, reply))
}

// A JSON string is decoded once: a string within it is not an object.
func TestS2_9_ArgumentsAreDecodedOnce(t *testing.T) {
	const twice = `"\"{\\\"a\\\":1}\""`
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
		_, _, err := markdownpolicy.ReadCall(`{"name":"t","arguments":`+twice+`}`, mode, "name", "arguments")
		require.NotNil(t, err)
		require.Contains(t, err.Expected, `"arguments" of "t" to be a JSON object`)
		for _, p := range []struct {
			markdownpolicy.Policy
			reply string
		}{
			{markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: mode}), `<tool_call>{"name":"t","arguments":` + twice + `}</tool_call>`},
			{markdownpolicy.XML.With(markdownpolicy.Options{Mode: mode}), `<tool_call><name>t</name><arguments>` + twice + `</arguments></tool_call>`},
		} {
			_, err := p.ParseResponse(p.reply)
			require.Error(t, err, p.reply)
		}
	}
	call, _, err := markdownpolicy.ReadCall(`{"name":"t","arguments":"{\"a\":\"\\\"x\\\"\"}"}`, markdownpolicy.ModeError, "name", "arguments")
	require.Nil(t, err)
	require.Equal(t, `{"a":"\"x\""}`, call.Arguments)
	require.Equal(t, parts(callPart("call_1", "t", twice)), partsOf(t, markdownpolicy.ReAct{}, "Action: t\nAction Input: "+twice), "text that is no object is an input of its own")
}

func TestS2_8_DeepObjectsAreRead(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9_999) + "[]" + strings.Repeat("}", 9_999)
	_, _, err := markdownpolicy.ReadObject(deep, 0, markdownpolicy.ModeError)
	require.Nil(t, err)
}
