package openaichat_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

func TestW1_CallsWithFinishStopOrNoneAreCalls(t *testing.T) {
	const message = `"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]`
	for _, finish := range []string{`"stop"`, `""`, `null`, `"eos"`} {
		resp, err := askWhole(t, sayJSON(t, whole(message, finish)))
		require.Equal(t, llmclient.FinishToolCalls, must(t, resp, err).Finish, finish)
		require.Equal(t, []messages.ToolCall{call("a", "f", `{"x":1}`)}, resp.Message.Calls())
	}
}

func TestW2_CallSentTwiceRunsOnce(t *testing.T) {
	first := chunk(`"tool_calls":[{"index":0,"id":"0","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]`)
	split := []string{
		chunk(`"tool_calls":[{"index":0,"id":"0","type":"function","function":{"name":"f","arguments":""}}]`),
		chunk(`"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]`),
		chunk(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`),
	}
	for name, data := range map[string][]string{
		"whole":                 {first, first},
		"whole at other index":  {first, chunk(`"tool_calls":[{"index":1,"id":"0","function":{"name":"f","arguments":"{\"x\":1}"}}]`)},
		"split":                 append(append([]string{}, split...), split...),
		"announced again":       {first, chunk(`"tool_calls":[{"index":0,"id":"0","function":{"name":"f","arguments":""}}]`)},
		"empty before the real": {chunk(`"tool_calls":[{"index":0,"id":"0","function":{"name":"f","arguments":"{}"}}]`), first},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, say(t, 200, "text/event-stream", events(data...))) // no finish reason, no [DONE]
			require.Equal(t, llmclient.FinishToolCalls, must(t, resp, err).Finish)
			require.Equal(t, []messages.ToolCall{call("0", "f", `{"x":1}`)}, resp.Message.Calls())
		})
	}
}

func TestW2_SameIDForDifferentCallsIsTwoCalls(t *testing.T) {
	resp, err := ask(t, sayEvents(t,
		chunk(`"tool_calls":[{"index":0,"id":"0","function":{"name":"f","arguments":"{\"x\":1}"}}]`),
		chunk(`"tool_calls":[{"index":1,"id":"0","function":{"name":"f","arguments":"{\"x\":2}"}}]`, `"finish_reason":"tool_calls"`)))
	require.Equal(t, []messages.ToolCall{call("0", "f", `{"x":1}`), call("call_1_0", "f", `{"x":2}`)}, must(t, resp, err).Message.Calls())
}

func TestW3_FinishTwiceAndUsageTwiceTakeTheLast(t *testing.T) {
	usage := func(n string) string {
		return `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":` + n + `}}`
	}
	resp, err := ask(t, sayEvents(t, chunk(`"content":"a"`), usage("1"), chunk(``, `"finish_reason":"stop"`),
		chunk(``, `"finish_reason":"length"`), usage("2")))
	require.Equal(t, llmclient.FinishLength, must(t, resp, err).Finish)
	require.Equal(t, messages.Usage{Input: 3, Output: 2, Total: 5}, resp.Usage)
}

// callPieces are calls as servers send them, and the calls that they represent.
var callPieces = map[string]struct {
	data []string
	want []messages.ToolCall
}{
	"whole in one delta": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`)},
		[]messages.ToolCall{call("a", "f", `{"x":1}`)},
	},
	"split, id and name empty later": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), inCalls(`{"index":0,"id":"","function":{"name":"","arguments":"{\"x\""}}`), inCalls(`{"index":0,"id":"","function":{"arguments":":1}"}}`)},
		[]messages.ToolCall{call("a", "f", `{"x":1}`)},
	},
	"two in one chunk, split over many": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`), inCalls(`{"index":1,"function":{"arguments":"}"}}`), inCalls(`{"index":0,"function":{"arguments":"1}"}}`)},
		[]messages.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{}`)},
	},
	"several deltas, none with an id": {
		[]string{inCalls(`{"index":0,"function":{"name":"f","arguments":"{\"x\""}}`), inCalls(`{"index":0,"function":{"arguments":":1}"}}`)},
		[]messages.ToolCall{call("call_1_0", "f", `{"x":1}`)},
	},
	"id comes later": {
		[]string{inCalls(`{"index":0,"function":{"name":"f","arguments":""}}`), inCalls(`{"index":0,"id":"a","function":{"arguments":"{}"}}`)},
		[]messages.ToolCall{call("a", "f", `{}`)},
	},
	"index missing": {
		[]string{inCalls(`{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}`)},
		[]messages.ToolCall{call("a", "f", `{}`), call("b", "g", `{}`)},
	},
	"index missing, split": {
		[]string{inCalls(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), inCalls(`{"function":{"arguments":":1}"}}`), inCalls(`{"id":"b","function":{"name":"g","arguments":""}}`)},
		[]messages.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", `{}`)},
	},
	"neither index nor id": {
		[]string{inCalls(`{"function":{"name":"f"}}`), inCalls(`{"function":{"name":"g","arguments":"{\"x\":1}"}}`), inCalls(`{"function":{"name":"g","arguments":"{\"x\":2}"}}`)},
		[]messages.ToolCall{call("call_1_0", "f", `{}`), call("call_1_1", "g", `{"x":1}`), call("call_1_2", "g", `{"x":2}`)},
	},
	"no arguments, then a call with an id": {
		[]string{inCalls(`{"function":{"name":"f"}}`), inCalls(`{"id":"b","function":{"name":"g","arguments":"{}"}}`)},
		[]messages.ToolCall{call("call_1_0", "f", `{}`), call("b", "g", `{}`)},
	},
	"index starts at 1": {
		[]string{inCalls(`{"index":1,"id":"a","function":{"name":"f","arguments":""}}`), inCalls(`{"index":1,"function":{"arguments":"{}"}}`)},
		[]messages.ToolCall{call("a", "f", `{}`)},
	},
	"arguments null": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`)},
		[]messages.ToolCall{call("a", "f", `{}`)},
	},
	"arguments missing": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f"}}`)},
		[]messages.ToolCall{call("a", "f", `{}`)},
	},
	"arguments an object": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 1}}}`)},
		[]messages.ToolCall{call("a", "f", `{"x": 1}`)},
	},
	"an empty object before the real one": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), inCalls(`{"index":0,"function":{"arguments":"{\"x\""}}`), inCalls(`{"index":0,"function":{"arguments":":1}"}}`)},
		[]messages.ToolCall{call("a", "f", `{"x":1}`)},
	},
	"broken arguments stay as they are": {
		[]string{inCalls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": "}}`)},
		[]messages.ToolCall{call("a", "f", `{"x": `)},
	},
}

func inCalls(pieces string) string { return chunk(`"tool_calls":[` + pieces + `]`) }

func TestW4_CallsComeTogether(t *testing.T) {
	for name, c := range callPieces {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, sayEvents(t, append(c.data, chunk(``, `"finish_reason":"tool_calls"`))...))
			require.Equal(t, c.want, must(t, resp, err).Message.Calls())
			require.Equal(t, llmclient.FinishToolCalls, resp.Finish)
		})
	}
}

func TestW5_ChunksWithoutChoices(t *testing.T) {
	resp, err := ask(t, sayEvents(t,
		`{"id":"","model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}`,
		chunk(`"content":"hi"`), chunk(``, `"finish_reason":"stop"`),
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`))
	require.Equal(t, "hi", must(t, resp, err).Message.Text())
	require.Equal(t, "c1", resp.ID)
	require.Equal(t, "m1", resp.Model)
	require.Equal(t, messages.Usage{Input: 1, Output: 2, Total: 3}, resp.Usage)
}

func TestW6_EventStreamsInEveryDress(t *testing.T) {
	one, two := chunk(`"content":"one "`), chunk(`"content":"two"`, `"finish_reason":"stop"`)
	for name, body := range map[string]string{
		"comments":            ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + events(one) + ": x\n" + events(two, "[DONE]"),
		"CRLF":                "data: " + one + "\r\n\r\ndata: " + two + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"CR":                  "data: " + one + "\r\rdata: " + two + "\r\r",
		"no DONE":             events(one, two),
		"no last blank line":  events(one) + "data: " + two + "\n",
		"no last line end":    events(one) + "data: " + two,
		"no space":            "data:" + one + "\n\ndata:" + two + "\n\ndata:[DONE]\n\n",
		"mark and blanks":     "\ufeff\n\n" + events(one, two),
		"ids, names, retries": "retry: 10\nid: 1\nevent: message\ndata: " + one + "\n\nid: 2\nevent: chunk\ndata: " + two + "\n\n",
		"data in lines":       "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"one two\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n",
		"empty data":          "data:\n\ndata: \n\n" + events(one, two),
		"plain content type":  events(one, two),
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, say(t, 200, "text/plain", body))
			require.Equal(t, "one two", must(t, resp, err).Message.Text())
			require.Equal(t, llmclient.FinishStop, resp.Finish)
		})
	}
}

func TestW7_ErrorInsideAGoodAnswer(t *testing.T) {
	half := chunk(`"content":"half"`)
	for name, c := range map[string]struct {
		contentType, body string
		code              llmclient.Code
		partial           string
	}{
		"event: error":           {"text/event-stream", events(half) + "event: error\ndata: {\"error\":{\"message\":\"no call\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"failed_generation\":\"x\",\"status_code\":400}}\n\n", llmclient.CodeMalformedToolCall, "half"},
		"event: error, bare":     {"text/event-stream", events(half) + "event: error\ndata: {\"message\":\"overloaded\",\"code\":529}\n\n", llmclient.CodeUnavailable, "half"},
		"event: error, text":     {"text/event-stream", "event: error\ndata: boom\n\n", llmclient.CodeUnavailable, ""},
		"chunk beside choices":   {"text/event-stream", events(half, `{"error":{"code":502,"message":"upstream"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, "[DONE]"), llmclient.CodeUnavailable, "half"},
		"chunk after length":     {"text/event-stream", events(half, chunk(``, `"finish_reason":"length"`), `{"error":{"code":400,"message":"Token limit reached"},"choices":[]}`), llmclient.CodeBadRequest, "half"},
		"rate limit in a chunk":  {"text/event-stream", events(`{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`), llmclient.CodeRateLimited, ""},
		"error in the choice":    {"application/json", `{"choices":[{"index":0,"error":{"code":429,"message":"upstream"},"message":{"content":"half"},"finish_reason":"error"}]}`, llmclient.CodeRateLimited, "half"},
		"body":                   {"application/json", `{"error":{"message":"bad","type":"invalid_request_error"}}`, llmclient.CodeBadRequest, ""},
		"body with text error":   {"application/json", `{"error":"model is loading"}`, llmclient.CodeUnavailable, ""},
		"body with a status":     {"application/json", `{"status":503,"message":"down"}`, llmclient.CodeUnavailable, ""},
		"finish error":           {"text/event-stream", events(half, chunk(``, `"finish_reason":"error"`)), llmclient.CodeUnavailable, "half"},
		"no resources":           {"text/event-stream", events(half, chunk(``, `"finish_reason":"insufficient_system_resource"`)), llmclient.CodeUnavailable, "half"},
		"no choices":             {"application/json", `{"id":"c1","choices":[]}`, llmclient.CodeBadResponse, ""},
		"null choices":           {"application/json", `{"id":"c1","choices":null}`, llmclient.CodeBadResponse, ""},
		"stream without choices": {"text/event-stream", events(`{"choices":[]}`, "[DONE]"), llmclient.CodeBadResponse, ""},
		"no JSON in an event":    {"text/event-stream", events(half, `{"choices":`), llmclient.CodeBadResponse, "half"},
	} {
		t.Run(name, func(t *testing.T) {
			s := say(t, 200, c.contentType, c.body)
			_, streamed := ask(t, s)
			_, fetched := askWhole(t, s)
			for _, err := range []*llmclient.Error{streamed, fetched} {
				require.NotNil(t, err)
				require.Equal(t, c.code, err.Code, err.Error())
				require.Equal(t, c.partial, err.Partial.Text())
				require.Equal(t, 200, err.Status)
				require.NotEmpty(t, err.Message)
			}
		})
	}
}

func TestW8_ContentDecidesNotContentType(t *testing.T) {
	body := whole(`"content":"hi"`, `"stop"`)
	for _, contentType := range []string{"text/plain", "application/octet-stream", "text/event-stream", ""} {
		resp, err := askWhole(t, say(t, 200, contentType, "\n\n "+body))
		require.Equal(t, "hi", must(t, resp, err).Message.Text(), contentType)
	}
	for _, body := range []string{"method=POST pathname=/x", "<html><body>Log in</body></html>", "data", "\x00\x01"} {
		_, err := askWhole(t, say(t, 200, "text/plain", body))
		require.Equal(t, llmclient.CodeBadResponse, err.Code)
	}
	for _, contentType := range []string{"text/event-stream", "application/json"} {
		_, err := askWhole(t, say(t, 200, contentType, " \n"))
		require.Equal(t, llmclient.CodeTruncated, err.Code, contentType)
	}
}

func TestW9_TextAndThoughtsBesideCalls(t *testing.T) {
	const calls = `"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]`
	for message, want := range map[string][]messages.AssistantContent{
		`"content":"",` + calls:            {call("a", "f", "{}")},
		`"content":"I look.",` + calls:     {messages.Text{Text: "I look."}, call("a", "f", "{}")},
		`"content":"hi","tool_calls":[]`:   {messages.Text{Text: "hi"}},
		`"content":"hi","tool_calls":null`: {messages.Text{Text: "hi"}},
		`"content":[{"type":"thinking","thinking":[{"type":"text","text":"2+2"}]},{"type":"text","text":"4"}]`: {messages.Thought{Text: "2+2"}, messages.Text{Text: "4"}},
		`"content":[{"type":"thinking","thinking":"2+2"},"4"]`:                                                 {messages.Thought{Text: "2+2"}, messages.Text{Text: "4"}},
		`"content":"<think>2+2</think>4"`:                                                                      {messages.Text{Text: "<think>2+2</think>4"}},
		`"content":null`:                                                                                       nil,
	} {
		s := sayJSON(t, whole(message, "null"))
		resp, err := askWhole(t, s)
		require.Equal(t, want, must(t, resp, err).Message.Content, message)
		resp, err = ask(t, s)
		require.Equal(t, want, must(t, resp, err).Message.Content, message)
	}
	resp, err := ask(t, sayEvents(t, chunk(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"2+"}]}]`),
		chunk(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"2"}]}]`), chunk(`"content":"4"`)))
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "2+2"}, messages.Text{Text: "4"}}, must(t, resp, err).Message.Content)
}

func TestW10_CallWithoutIDIsGivenOne(t *testing.T) {
	s := sayJSON(t, whole(`"tool_calls":[{"id":"","function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]`, `"tool_calls"`))
	client := newClient(t, s)
	req := hello()
	seen := map[string]bool{}
	for range 3 {
		resp, err := client.Complete(context.Background(), req, nil)
		require.NoError(t, err)
		again, err := client.Complete(context.Background(), req, nil)
		require.NoError(t, err)
		require.Equal(t, resp.Message, again.Message, "the same for the same request")
		req.Messages = append(req.Messages, resp.Message)
		for _, c := range resp.Message.Calls() {
			require.False(t, seen[c.ID], c.ID)
			seen[c.ID] = true
			req.Messages = append(req.Messages, messages.Tool{ToolOutput: messages.ToolOutput{CallID: c.ID, ToolName: "f"}})
		}
		require.NoError(t, req.Messages.Validate())
	}
	require.Len(t, seen, 6)

	taken := &llmclient.Request{Messages: messages.History{messages.UserText("a"), messages.Assistant{Content: []messages.AssistantContent{call("call_2_0", "f", "{}")}}}}
	resp, err := client.Complete(context.Background(), taken, nil)
	require.NoError(t, err)
	require.Equal(t, "call_2_1", resp.Message.Calls()[0].ID)
}

func TestW11_ThoughtsAreKeptApartWithTheirFields(t *testing.T) {
	const thoughtful = `"reasoning":"hm","reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s","index":0}],"extra_content":{"google":{"thought_signature":"t"}},"content":"hi"`
	resp, err := ask(t, sayJSON(t, whole(thoughtful, `"stop"`)))
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "hm"}, messages.Text{Text: "hi"}}, must(t, resp, err).Message.Content)
	require.Equal(t, messages.Extras{
		"reasoning":         json.RawMessage(`"hm"`),
		"reasoning_content": json.RawMessage(`"hm"`),
		"reasoning_details": json.RawMessage(`[{"type":"reasoning.text","text":"hm","signature":"s","index":0}]`),
		"extra_content":     json.RawMessage(`{"google":{"thought_signature":"t"}}`),
	}, resp.Message.Extras)

	resp, err = ask(t, sayEvents(t,
		chunk(`"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","index":0,"format":null}]`),
		chunk(`"reasoning":"\"m","reasoning_details":[{"type":"reasoning.text","text":"\"m","index":0,"format":"x"}]`),
		chunk(`"reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0},{"type":"reasoning.encrypted","data":"e","index":0}]`),
		chunk(`"content":"hi","reasoning_content":null,"reasoning_details":[]`, `"finish_reason":"stop"`)))
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: `h"m`}, messages.Text{Text: "hi"}}, must(t, resp, err).Message.Content)
	require.Equal(t, messages.Extras{
		"reasoning":         json.RawMessage(`"h\"m"`),
		"reasoning_details": json.RawMessage(`[{"format":"x","index":0,"signature":"s","type":"reasoning.text","text":"h\"m"},{"data":"e","index":0,"type":"reasoning.encrypted"}]`),
	}, resp.Message.Extras)

	resp, err = ask(t, sayEvents(t, chunk(`"reasoning_content":"","tool_calls":[{"id":"a","function":{"name":"f"}}]`)))
	require.Equal(t, messages.Extras{"reasoning_content": json.RawMessage(`""`)}, must(t, resp, err).Message.Extras, "an empty one counts")

	resp, err = ask(t, sayJSON(t, whole(`"content":"hi"`, `"stop"`)))
	require.Nil(t, must(t, resp, err).Message.Extras)
}

func TestW12_RefusalFilterAndSeveralChoices(t *testing.T) {
	s := sayJSON(t, whole(`"content":null,"refusal":"I will not."`, `"stop"`))
	resp, err := ask(t, s)
	require.Equal(t, "I will not.", must(t, resp, err).Message.Text())
	require.Equal(t, llmclient.FinishRefusal, resp.Finish)

	resp, err = ask(t, sayEvents(t, chunk(`"refusal":"I will "`), chunk(`"refusal":"not."`), chunk(``, `"finish_reason":"stop"`)))
	require.Equal(t, "I will not.", must(t, resp, err).Message.Text())
	require.Equal(t, llmclient.FinishRefusal, resp.Finish)

	resp, err = ask(t, sayEvents(t, chunk(`"content":"so"`), chunk(``, `"finish_reason":"content_filter"`)))
	require.Equal(t, "so", must(t, resp, err).Message.Text())
	require.Equal(t, llmclient.FinishContentFilter, resp.Finish)

	resp, err = ask(t, sayJSON(t, `{"choices":[{"index":0,"message":{"content":"first"},"finish_reason":"stop"},{"index":1,"message":{"content":"second"},"finish_reason":"length"}]}`))
	require.Equal(t, "first", must(t, resp, err).Message.Text())
	require.Equal(t, llmclient.FinishStop, resp.Finish)

	other := func(s string) string {
		return `{"choices":[{"delta":{"content":"` + s + `"},"index":1,"finish_reason":"length"}]}`
	}
	resp, err = ask(t, sayEvents(t, chunk(`"content":"fi"`), other("se"), chunk(`"content":"rst"`, `"finish_reason":"stop"`), other("cond")))
	require.Equal(t, "first", must(t, resp, err).Message.Text())
	require.Equal(t, llmclient.FinishStop, resp.Finish)
}

func TestW16_LegacyFunctionCall(t *testing.T) {
	resp, err := ask(t, sayJSON(t, whole(`"content":null,"function_call":{"name":"f","arguments":"{\"x\":1}"}`, `"function_call"`)))
	require.Equal(t, []messages.ToolCall{call("call_1_0", "f", `{"x":1}`)}, must(t, resp, err).Message.Calls())
	require.Equal(t, llmclient.FinishToolCalls, resp.Finish)

	resp, err = ask(t, sayEvents(t, chunk(`"function_call":{"name":"f","arguments":""}`), chunk(`"function_call":{"arguments":"{\"x\""}`),
		chunk(`"function_call":{"arguments":":1}"}`), chunk(``, `"finish_reason":"function_call"`)))
	require.Equal(t, []messages.ToolCall{call("call_1_0", "f", `{"x":1}`)}, must(t, resp, err).Message.Calls())

	resp, err = ask(t, sayJSON(t, whole(`"content":"","function_call":{"name":"","arguments":""},"tool_calls":[{"custom":{"input":"","name":""},"id":"a","function":{"name":"f","arguments":"{}"}}]`, `""`)))
	require.Equal(t, []messages.ToolCall{call("a", "f", `{}`)}, must(t, resp, err).Message.Calls())
	require.Nil(t, resp.Message.Calls()[0].Extras)
}
