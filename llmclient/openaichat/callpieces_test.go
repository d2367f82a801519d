package openaichat_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// askFor asks for a stream with tools of these names.
func askFor(t *testing.T, s *server, names ...string) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	req := hello()
	for _, name := range names {
		req.Tools = append(req.Tools, tools.Definition{Name: name})
	}
	resp, err := newClient(t, s).Complete(context.Background(), req, func(llmclient.Delta) {})
	if err != nil {
		return nil, asError(t, err)
	}
	return resp, nil
}

// Servers give each piece of a call another id, or its name in pieces. A call is made as the model
// wrote it, or not at all.
func TestStream_piecesOfCalls(t *testing.T) {
	oslo := []messages.ToolCall{call("a", "get_weather", `{"city":"Oslo"}`)}
	for name, c := range map[string]struct {
		data []string
		want []messages.ToolCall
	}{
		"another id a piece": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}}`),
			inCalls(`{"index":0,"id":"b","function":{"arguments":"{\"city\":"}}`),
			inCalls(`{"index":0,"id":"c","function":{"arguments":"\"Oslo\"}"}}`),
			inCalls(`{"index":0,"id":"d","function":{"arguments":" "}}`),
		}, []messages.ToolCall{call("a", "get_weather", `{"city":"Oslo"}`)}},
		"another id a piece, no index, name repeated": {[]string{
			inCalls(`{"id":"a","function":{"name":"get_weather","arguments":"{"}}`),
			inCalls(`{"id":"b","function":{"name":"","arguments":"\"city\":"}}`),
			inCalls(`{"id":"c","function":{"arguments":"\"Oslo\"}"}}`),
		}, oslo},
		"another id a piece, two calls side by side": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}},{"index":1,"id":"b","function":{"name":"get_time","arguments":""}}`),
			inCalls(`{"index":1,"id":"c","function":{"arguments":"{\"x\":"}},{"index":0,"id":"d","function":{"arguments":"{\"city\":"}}`),
			inCalls(`{"index":0,"id":"e","function":{"arguments":"\"Oslo\"}"}},{"index":1,"id":"f","function":{"arguments":"1}"}}`),
		}, append(oslo[:1:1], call("b", "get_time", `{"x":1}`))},
		"name in pieces": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_","arguments":""}}`),
			inCalls(`{"index":0,"function":{"name":"weath"}}`), inCalls(`{"index":0,"function":{"name":"er","arguments":"{\"city\":"}}`),
			inCalls(`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`),
		}, oslo},
		"name in pieces, each longer": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_"}}`), inCalls(`{"index":0,"id":"b","function":{"name":"get_weather"}}`),
			inCalls(`{"index":0,"function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`),
		}, oslo},
		"name in pieces, of which the first ones are another tool": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get","arguments":""}}`), inCalls(`{"index":0,"function":{"name":"_weather"}}`),
			inCalls(`{"index":0,"function":{"arguments":"{\"city\":\"Oslo\"}"}}`),
		}, oslo},
		"the same without an id": {[]string{
			inCalls(`{"index":0,"function":{"name":"get"}}`), inCalls(`{"index":0,"function":{"name":"_weath"}}`), inCalls(`{"index":0,"function":{"name":"er","arguments":"{\"city\":\"Oslo\"}"}}`),
		}, []messages.ToolCall{call("call_1_0", "get_weather", `{"city":"Oslo"}`)}},
		"name repeated whole": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}`),
			inCalls(`{"index":0,"function":{"name":"get_weather","arguments":"\"Oslo\"}"}}`),
		}, oslo},
		"a name that begins another": {[]string{
			inCalls(`{"function":{"name":"get"}}`), inCalls(`{"function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`),
		}, []messages.ToolCall{call("call_1_0", "get", "{}"), call("call_1_1", "get_weather", `{"city":"Oslo"}`)}},
		"two without ids and arguments": {[]string{
			inCalls(`{"function":{"name":"get_time"}}`), inCalls(`{"function":{"name":"get"}}`),
		}, []messages.ToolCall{call("call_1_0", "get_time", "{}"), call("call_1_1", "get", "{}")}},
		"names of no tool are not joined": {[]string{
			inCalls(`{"function":{"name":"get_x"}}`), inCalls(`{"function":{"name":"weather"}}`),
		}, []messages.ToolCall{call("call_1_0", "get_x", "{}"), call("call_1_1", "weather", "{}")}},
		"arguments in the message at the end": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}}`),
			`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"z","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}`,
		}, oslo},
		"the rest of the arguments in the message at the end": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}`),
			`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}`,
		}, oslo},
		"one call more in the message at the end": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`),
			`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"get_weather","arguments":"{\"city\": \"Oslo\"}"}},{"id":"b","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]}}]}`,
		}, append(oslo[:1:1], call("b", "get_weather", `{"city":"Rome"}`))},
		"one call more in the message at the end, in front": {[]string{ // which is not made twice
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`),
			`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"get_time","arguments":"{}"}},{"id":"y","function":{"name":"get_weather","arguments":"{\"city\": \"Oslo\"}"}}]}}]}`,
		}, oslo},
		"calls in the message at the end": {[]string{
			chunk(`"content":"I look."`),
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}`,
		}, oslo},
		"arguments in the old field": {[]string{
			chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather"}}],"function_call":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}`),
		}, oslo},
		"a call that is whole, then another with its id alone": {[]string{
			inCalls(`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`),
			inCalls(`{"index":0,"id":"b"}`), inCalls(`{"index":0,"function":{"name":"get_time","arguments":"{}"}}`),
		}, append(oslo[:1:1], call("b", "get_time", "{}"))},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := askFor(t, sayEvents(t, append(c.data, chunk(``, `"finish_reason":"tool_calls"`))...), "get_weather", "get_time", "get")
			require.Equal(t, c.want, must(t, resp, err).Message.Calls())
			require.Equal(t, llmclient.FinishToolCalls, resp.Finish)
		})
	}
}

// Arguments came, and nobody can tell for which call.
func TestCalls_argumentsAstray(t *testing.T) {
	for name, calls := range map[string]string{
		"another place":     `{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"function":{"arguments":"{\"x\":1}"}}`,
		"joined to another": `{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"f"}}`,
		"no name anywhere":  `{"index":0,"id":"b","function":{"arguments":"{\"x\":1}"}},{"index":1,"id":"a","function":{"name":"f","arguments":null}}`,
	} {
		more := chunk(``)
		if name == "joined to another" { // neither an index nor an id says to which of the two calls
			more = inCalls(`{"function":{"arguments":"{\"x\":1}"}},{"function":{"arguments":" {\"x\":2}"}}`)
		}
		resp, err := ask(t, sayEvents(t, chunk(`"content":"I look."`), inCalls(calls), more, chunk(``, `"finish_reason":"tool_calls"`)))
		require.Nil(t, resp, name)
		require.Equal(t, llmclient.CodeBadResponse, err.Code, name)
		require.Contains(t, err.Message, "arguments", name)
		require.Equal(t, "I look.", err.Partial.Text(), name)
	}
	resp, err := ask(t, sayEvents(t, inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":7}}`), chunk(``, `"finish_reason":"tool_calls"`)))
	require.Equal(t, []messages.ToolCall{call("a", "f", "7")}, must(t, resp, err).Message.Calls(), "what is no object is the tool's to refuse")
}
