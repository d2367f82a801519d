package openaichat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestS3_6_FinishReasons(t *testing.T) {
	const callF = `"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]`
	for _, c := range []struct {
		message, finish string
		want            llmclient.FinishReason
		code            llmclient.Code
	}{
		{`"content":"hi"`, `"stop"`, llmclient.FinishStop, ""},
		{`"content":"hi"`, `null`, llmclient.FinishStop, ""},
		{`"content":"hi"`, `""`, llmclient.FinishStop, ""},
		{`"content":"hi"`, `"end_turn"`, llmclient.FinishStop, ""},
		{`"content":""`, `"stop"`, llmclient.FinishStop, ""},
		{`"content":"hi"`, `"length"`, llmclient.FinishLength, ""},
		{`"content":"hi"`, `"model_length"`, llmclient.FinishLength, ""},
		{`"content":"hi"`, `"content_filter"`, llmclient.FinishContentFilter, ""},
		{callF, `"tool_calls"`, llmclient.FinishToolCalls, ""},
		{callF, `"whatever"`, llmclient.FinishToolCalls, ""},
		{callF, `"length"`, llmclient.FinishLength, ""},
		{`"content":"hi"`, `"tool_calls"`, llmclient.FinishStop, ""},
		{`"content":"hi","tool_calls":[]`, `"tool_calls"`, llmclient.FinishStop, ""},
		{`"content":"hi"`, `"function_call"`, llmclient.FinishStop, ""},
		{`"refusal":"no"`, `"tool_calls"`, llmclient.FinishRefusal, ""},
		{`"content":""`, `"tool_calls"`, "", llmclient.CodeMalformedToolCall},
		{`"content":null,"tool_calls":[]`, `"function_call"`, "", llmclient.CodeMalformedToolCall},
		{`"content":" \n","reasoning_content":"I call f."`, `"tool_calls"`, "", llmclient.CodeMalformedToolCall},
	} {
		for _, s := range []*server{
			sayJSON(t, whole(c.message, c.finish)),
			sayEvents(t, chunk(strings.Replace(c.message, `{"id"`, `{"index":0,"id"`, 1)), chunk(``, `"finish_reason":`+c.finish)),
		} {
			client, req := newClient(t, s), offering()
			var told []llmclient.Notice
			ctx := llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { told = append(told, n) })
			resp, err := client.Complete(ctx, req, func(llmclient.Delta) {})
			if c.code != "" {
				e := asError(t, err)
				require.Equal(t, c.code, e.Code, c)
				require.Equal(t, 200, e.Status)
				require.False(t, e.Code.Temporary())
				continue
			}
			require.NoError(t, err)
			require.Equal(t, c.want, resp.Finish, c)
			announced := strings.Contains(c.finish, "_call") && c.want == llmclient.FinishStop
			require.Equal(t, announced, len(told) == 1, c)
			if announced {
				require.Equal(t, llmclient.NoticeNoCall, told[0].Kind)
				require.ErrorContains(t, told[0].Err, "has none")
				require.False(t, told[0].Discard)
			}
		}
	}
	// Where no tool is offered, a call may stand in the thoughts, for a policy to read.
	resp, err := ask(t, sayJSON(t, whole(`"content":"","reasoning_content":"f()"`, `"tool_calls"`)))
	require.Equal(t, llmclient.FinishStop, must(t, resp, err).Finish)
	require.Equal(t, "f()", resp.Message.Thought())
}

// offering returns a request that offers a tool.
func offering() *llmclient.Request {
	req := hello()
	req.Tools = []tools.Definition{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}
	return req
}

func TestS3_6_ACutReplyKeepsOnlyWholeCalls(t *testing.T) {
	const one = `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`
	for last, want := range map[string]int{
		`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\": "}}`: 1,
		`{"index":1,"id":"b","function":{"name":"g","arguments":""}}`:         1,
		`{"index":1,"id":"b","function":{"name":"g"}}`:                        1,
		`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`:       2,
	} {
		for _, finish := range []string{"length", "content_filter"} {
			resp, err := ask(t, sayEvents(t, chunk(`"content":"so","tool_calls":[`+one+`]`), chunk(`"tool_calls":[`+last+`]`), chunk(``, `"finish_reason":"`+finish+`"`)))
			require.Equal(t, llmclient.FinishReason(finish), must(t, resp, err).Finish)
			require.Len(t, resp.Message.Calls(), want, last)
			require.Equal(t, "so", resp.Message.Text())
		}
	}
}

func TestS3_7_CallsWithAnotherFinishReasonAreCalls(t *testing.T) {
	resp, err := ask(t, sayEvents(t, chunk(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`), chunk(``, `"finish_reason":"stop"`)))
	require.Equal(t, llmclient.FinishToolCalls, must(t, resp, err).Finish)
}

func TestS0_8_ReplyWithoutChoices(t *testing.T) {
	for _, body := range []string{`{}`, `{"choices":[]}`, `[]`, `{"choices":[null]}`, `{"choices":{"message":{"content":"x"}}}`} {
		resp, err := askWhole(t, sayJSON(t, body))
		require.Nil(t, resp)
		require.Equal(t, llmclient.CodeBadResponse, err.Code, body)
	}
}

func TestUsage_AsProvidersCount(t *testing.T) {
	for body, want := range map[string]messages.Usage{
		`{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`: {Input: 5, Output: 2, Total: 7, Cached: 4, Reasoning: 1},
		`{"prompt_tokens":5,"completion_tokens":2,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":10}}`:                                           {Input: 5, Output: 12, Total: 17, Reasoning: 10},
		`{"prompt_tokens":5,"completion_tokens":2}`: {Input: 5, Output: 2, Total: 7},
		`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":4}}`:                                          {Input: 9, Output: 2, Total: 11, Cached: 3, CacheWrites: 4},
		`{"prompt_tokens":9,"completion_tokens":2,"cache_creation_input_tokens":4,"prompt_tokens_details":{"cached_tokens":3,"cache_creation_input_tokens":4}}`: {Input: 9, Output: 2, Total: 11, Cached: 3, CacheWrites: 4},
		`{"prompt_tokens":5,"completion_tokens":2,"prompt_cache_hit_tokens":3,"cached_tokens":3}`:                                                               {Input: 5, Output: 2, Total: 7, Cached: 3},
		`{"prompt_tokens":5.0,"completion_tokens":"2","total_tokens":null,"prompt_tokens_details":null}`:                                                        {Input: 5, Total: 5},
		`{"prompt_tokens":-5,"completion_tokens":1e300}`:                                                                                                        {},
		`null`: {},
	} {
		s := sayJSON(t, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":`+body+`}`)
		resp, err := askWhole(t, s)
		require.Equal(t, want, counted(must(t, resp, err).Usage), body)
	}
	resp, err := ask(t, sayEvents(t, `{"choices":[{"delta":{"content":"x"},"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":2}}]}`))
	require.Equal(t, messages.Usage{Input: 1, Output: 2, Total: 3}, must(t, resp, err).Usage, "Moonshot")
	resp, err = ask(t, sayEvents(t, chunk(`"content":"x"`), `{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":1,"completion_tokens":2}}}`))
	require.Equal(t, messages.Usage{Input: 1, Output: 2, Total: 3}, must(t, resp, err).Usage, "Groq")
}

// counted is a usage, but for one that is an estimate.
func counted(u messages.Usage) messages.Usage {
	if u.Estimated > 0 && u.Estimated == u.Total {
		return messages.Usage{}
	}
	return u
}

func TestRaw_IsKeptOnRequest(t *testing.T) {
	keep := func(cfg *openaichat.Config) { cfg.KeepRaw = true }
	body := whole(`"content":"hi"`, `"stop"`)
	resp, err := ask(t, sayJSON(t, "\n"+body), keep)
	require.Equal(t, body, string(must(t, resp, err).Raw))

	one, two := chunk(`"content":"a"`), chunk(`"content":"b"`)
	resp, err = ask(t, sayEvents(t, one, two), keep)
	require.Equal(t, "["+one+","+two+"]", string(must(t, resp, err).Raw))
	require.True(t, json.Valid(resp.Raw))

	resp, err = ask(t, sayJSON(t, body))
	require.Nil(t, must(t, resp, err).Raw)
}
