package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
)

func signed(text, signature string) messages.Thought {
	return messages.Thought{Text: text, Extras: messages.Extras{"anthropic_signature": json.RawMessage(quote(signature))}}
}

// The streams of the provider's page on streaming, with our own words:
// https://platform.claude.com/docs/en/build-with-claude/streaming, read in November 2026.
func TestStream_publishedForms(t *testing.T) {
	for name, c := range map[string]struct {
		data   []string
		want   []messages.AssistantContent
		finish llmclient.FinishReason
	}{
		"text": {
			stream("end_turn", textBlock("0", "Hello", "!")),
			[]messages.AssistantContent{messages.Text{Text: "Hello!"}},
			llmclient.FinishStop,
		},
		"stop sequence": {
			stream("stop_sequence", textBlock("0", "Hello")),
			[]messages.AssistantContent{messages.Text{Text: "Hello"}},
			llmclient.FinishStop,
		},
		"text and a tool": {
			stream("tool_use", textBlock("0", "I will ", "look."), callBlock("1", "toolu_1", "weather", "", `{"city":`, ` "Be`, `rn"`, `}`)),
			[]messages.AssistantContent{messages.Text{Text: "I will look."}, call("toolu_1", "weather", `{"city": "Bern"}`)},
			llmclient.FinishToolCalls,
		},
		"parallel tools": {
			stream("tool_use", callBlock("0", "toolu_1", "weather", `{"city":"Bern"}`), callBlock("1", "toolu_2", "time")),
			[]messages.AssistantContent{call("toolu_1", "weather", `{"city":"Bern"}`), call("toolu_2", "time", "{}")},
			llmclient.FinishToolCalls,
		},
		"thoughts between calls": {
			stream("tool_use",
				blockOf("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"First"}`, `{"type":"thinking_delta","thinking":" this."}`, `{"type":"signature_delta","signature":"EqQB"}`),
				callBlock("1", "toolu_1", "weather", `{}`),
				blockOf("2", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Then that."}`, `{"type":"signature_delta","signature":"Eq"}`, `{"type":"signature_delta","signature":"QC"}`),
				callBlock("3", "toolu_2", "time", `{}`)),
			[]messages.AssistantContent{signed("First this.", "EqQB"), call("toolu_1", "weather", "{}"), signed("Then that.", "EqQC"), call("toolu_2", "time", "{}")},
			llmclient.FinishToolCalls,
		},
		"a thought that is not shown": {
			stream("end_turn", blockOf("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"signature_delta","signature":"EqQB"}`), textBlock("1", "4")),
			[]messages.AssistantContent{signed("", "EqQB"), messages.Text{Text: "4"}},
			llmclient.FinishStop,
		},
		"a redacted thought": {
			stream("end_turn", blockOf("0", `{"type":"redacted_thinking","data":"EmwK"}`), textBlock("1", "4")),
			[]messages.AssistantContent{messages.Thought{Extras: messages.Extras{"anthropic_redacted": json.RawMessage(`"EmwK"`)}}, messages.Text{Text: "4"}},
			llmclient.FinishStop,
		},
		"a tool of Anthropic's": {
			stream("end_turn",
				blockOf("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":"}`, `{"type":"input_json_delta","partial_json":" \"x\"}"}`),
				blockOf("1", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"X","url":"https://x.example","encrypted_content":"Eq"}]}`),
				textBlock("2", "Found.")),
			[]messages.AssistantContent{
				messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`)}},
				messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"X","url":"https://x.example","encrypted_content":"Eq"}]}`)}},
				messages.Text{Text: "Found."},
			},
			llmclient.FinishStop,
		},
		"a tool of Anthropic's that goes on": {
			stream("pause_turn", blockOf("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`)),
			[]messages.AssistantContent{messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`)}}},
			llmclient.FinishLength,
		},
		"a call by code": {
			stream("tool_use", blockOf("0", `{"type":"tool_use","id":"toolu_1","name":"time","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`)),
			[]messages.AssistantContent{messages.ToolCall{ID: "toolu_1", Name: "time", Arguments: "{}", Extras: messages.Extras{
				"anthropic_caller": json.RawMessage(`{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}`),
			}}},
			llmclient.FinishToolCalls,
		},
		"a call by the model": {
			stream("tool_use", blockOf("0", `{"type":"tool_use","id":"toolu_1","name":"time","input":{},"caller":{"type":"direct"}}`)),
			[]messages.AssistantContent{call("toolu_1", "time", "{}")},
			llmclient.FinishToolCalls,
		},
		"events and deltas from the future": {
			stream("end_turn", []string{`{"type":"weather_report","index":0,"delta":{"type":"rain"}}`}, textBlock("0", "4"),
				blockOf("1", `{"type":"hologram"}`, `{"type":"hologram_delta","light":1}`),
				[]string{`{"type":"content_block_delta","index":7,"delta":{"type":"hologram_delta"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"smell_delta"}}`}),
			[]messages.AssistantContent{messages.Text{Text: "4"}},
			llmclient.FinishStop,
		},
		"calls side by side": {
			stream("tool_use", []string{
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"y\":"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			}),
			[]messages.AssistantContent{call("a", "f", "{}"), call("b", "g", `{"y":1}`)},
			llmclient.FinishToolCalls,
		},
		"blocks that nobody announced": {
			stream("tool_use", []string{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`}, callBlock("1", "x", "f", "{}")),
			[]messages.AssistantContent{messages.Text{Text: "ab"}, call("x", "f", "{}")},
			llmclient.FinishToolCalls,
		},
		"nothing": {stream("end_turn"), nil, llmclient.FinishStop},
	} {
		t.Run(name, func(t *testing.T) {
			for _, read := range []func(testing.TB, *server, ...func(*anthropic.Config)) (*llmclient.Response, *llmclient.Error){ask, askWhole} {
				resp, err := read(t, sayEvents(t, c.data...))
				require.Equal(t, c.want, must(t, resp, err).Message.Content)
				require.Equal(t, c.finish, resp.Finish)
				require.Equal(t, messages.Usage{Input: 10, Output: 5, Total: 15}, resp.Usage)
				require.Equal(t, "msg_1", resp.ID)
				require.Equal(t, "m1", resp.Model)
				require.Empty(t, resp.Asked)
				require.Nil(t, resp.Raw)
			}
		})
	}
}

// A whole message holds the same as a streamed one. The forms are those of
// https://platform.claude.com/docs/en/api/messages, read in November 2026.
func TestWhole_publishedForms(t *testing.T) {
	body := whole(`{"type":"thinking","thinking":"Hm.","signature":"EqQB"},{"type":"redacted_thinking","data":"EmwK"},{"type":"text","text":"I look.","citations":null},`+
		`{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city": "Bern",  "n": 1e3}},{"type":"tool_use","id":"toolu_2","name":"time","input":{}},{"type":"hologram","x":[1]},{"x":1}`, "tool_use")
	var heard []llmclient.Delta
	resp, err := newClient(t, sayJSON(t, body), func(c *anthropic.Config) { c.KeepRaw = true }).Complete(t.Context(), hello(), func(d llmclient.Delta) { heard = append(heard, d) })
	require.NoError(t, err)
	require.Equal(t, []messages.AssistantContent{
		signed("Hm.", "EqQB"),
		messages.Thought{Extras: messages.Extras{"anthropic_redacted": json.RawMessage(`"EmwK"`)}},
		messages.Text{Text: "I look."},
		call("toolu_1", "weather", `{"city": "Bern",  "n": 1e3}`), call("toolu_2", "time", "{}"),
		messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage(`{"type":"hologram","x":[1]}`)}},
	}, resp.Message.Content)
	require.Equal(t, []llmclient.Delta{{Kind: llmclient.DeltaThought, Text: "Hm."}, {Kind: llmclient.DeltaText, Text: "I look."}}, heard)
	require.JSONEq(t, body, string(resp.Raw))
}

// What the model names as its sources is data, beside the text that it is for. The forms are those
// of https://platform.claude.com/docs/en/build-with-claude/citations, read in November 2026.
func TestCitations(t *testing.T) {
	const (
		page = `{"type":"page_location","cited_text":"Grass is green.","document_index":0,"document_title":"Plants","file_id":"file_1","start_page_number":1,"end_page_number":2}`
		web  = `{"type":"web_search_result_location","cited_text":"It rains.","title":"Weather","url":"https://w.example","encrypted_index":"Eo"}`
		find = `{"type":"search_result_location","cited_text":"So.","title":null,"source":"https://s.example","search_result_index":0,"start_block_index":0,"end_block_index":1}`
	)
	want := []messages.AssistantContent{
		messages.Text{Text: "As known, "},
		messages.Text{Text: "grass is green", Citations: []messages.Citation{
			{Title: "Plants", FileID: "file_1", Quote: "Grass is green.", Raw: json.RawMessage(page)},
			{Title: "Weather", URL: "https://w.example", Quote: "It rains.", Raw: json.RawMessage(web)},
			{URL: "https://s.example", Quote: "So.", Raw: json.RawMessage(find)},
		}},
		messages.Text{Text: "."},
	}
	cite := func(c string) string { return `{"type":"citations_delta","citation":` + c + `}` }
	resp, err := ask(t, sayEvents(t, stream("end_turn", textBlock("0", "As known, "),
		blockOf("1", `{"type":"text","text":"","citations":[]}`, cite(page), `{"type":"text_delta","text":"grass is "}`, cite(web), `{"type":"text_delta","text":"green"}`, cite(find)),
		textBlock("2", "."))...))
	require.Equal(t, want, must(t, resp, err).Message.Content)
	resp, err = askWhole(t, sayJSON(t, whole(`{"type":"text","text":"As known, "},{"type":"text","text":"grass is green","citations":[`+page+`,`+web+`,`+find+`]},{"type":"text","text":"."}`, "end_turn")))
	require.Equal(t, want, must(t, resp, err).Message.Content)
	require.Equal(t, "As known, grass is green.", resp.Message.Text())
}

// The cached parts of the input are parts of Input here, and beside it at Anthropic. Counts of a
// stream are cumulative.
func TestW3_Usage(t *testing.T) {
	const counts = `"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40}`
	want := messages.Usage{Input: 2110, Cached: 2000, CacheWrites: 100, Output: 50, Reasoning: 30, Total: 2160}
	start := strings.Replace(messageStart, `"input_tokens":10,`, `"input_tokens":10,`+counts+`,`, 1)
	for _, last := range []string{
		`{"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}`,
		`{"input_tokens":10,` + counts + `,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30},"server_tool_use":{"web_search_requests":1}}`,
		`{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}`,
	} {
		data := append([]string{start}, textBlock("0", "hi")...)
		data = append(data, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+last+`}`, messageStop)
		resp, err := ask(t, sayEvents(t, data...))
		require.Equal(t, want, must(t, resp, err).Usage, last)
	}
	resp, err := askWhole(t, sayJSON(t, `{"type":"message","id":"i","model":"m2","content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,`+counts+`,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}}`))
	require.Equal(t, want, must(t, resp, err).Usage)
	require.Equal(t, "m1", resp.Asked, "the model answered by another name")
}

// A reply that was cut has no call that the model may not have written to its end: a whole message
// shows such a call with whatever of its input could be read.
func TestCutReply(t *testing.T) {
	for stop, finish := range map[string]llmclient.FinishReason{
		"max_tokens": llmclient.FinishLength, "model_context_window_exceeded": llmclient.FinishLength, "refusal": llmclient.FinishRefusal,
	} {
		first, half := call("a", "f", `{"x":1}`), messages.Text{Text: "so"}
		for name, c := range map[string]struct {
			whole  string
			stream []string
			want   []messages.AssistantContent
		}{
			"a call": {
				`{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{"y":1}}`,
				stream(stop, callBlock("0", "a", "f", `{"x":1}`), callBlock("1", "b", "g", `{"y":1`)),
				[]messages.AssistantContent{first},
			},
			"a call that seems whole": {
				`{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}`,
				stream(stop, callBlock("0", "a", "f", `{"x":1}`), callBlock("1", "b", "g")),
				[]messages.AssistantContent{first},
			},
			"text after a call": {
				`{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"text","text":"so"}`,
				stream(stop, callBlock("0", "a", "f", `{"x":1}`), textBlock("1", "so")),
				[]messages.AssistantContent{first, half},
			},
		} {
			t.Run(stop+" "+name, func(t *testing.T) {
				streamed, err := ask(t, sayEvents(t, c.stream...))
				require.Equal(t, c.want, must(t, streamed, err).Message.Content)
				fetched, err := askWhole(t, sayJSON(t, whole(c.whole, stop)))
				require.Equal(t, c.want, must(t, fetched, err).Message.Content)
				require.Equal(t, finish, streamed.Finish)
				require.Equal(t, finish, fetched.Finish)
			})
		}
	}
}

// A refusal without a text says why, if the provider does; read in November 2026:
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons.
func TestW12_Refusal(t *testing.T) {
	const details = `{"type":"refusal","category":"cyber","explanation":"This may do harm."}`
	data := []string{messageStart, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":` + details + `},"usage":{"output_tokens":5}}`, messageStop}
	heard := ""
	resp, err := newClient(t, sayEvents(t, data...)).Complete(t.Context(), hello(), func(d llmclient.Delta) { heard += d.Text })
	require.NoError(t, err)
	require.Equal(t, llmclient.FinishRefusal, resp.Finish)
	require.Equal(t, "This may do harm.", resp.Message.Text())
	require.Equal(t, resp.Message.Text(), heard)
	require.Equal(t, messages.Extras{"anthropic_refusal": json.RawMessage(details)}, resp.Message.Extras)

	body := strings.Replace(whole(`{"type":"text","text":"I wi"}`, "refusal"), `"stop_sequence":null`, `"stop_details":`+details, 1)
	fetched, failed := askWhole(t, sayJSON(t, body))
	require.Equal(t, "I wi", must(t, fetched, failed).Message.Text(), "what the model said is not replaced")
	resp, err = newClient(t, sayJSON(t, whole("", "refusal"))).Complete(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Empty(t, resp.Message.Content)
}

// What is heard of a reply, joined, is its text, also where calls stand between texts.
func TestDeltasAreTheText(t *testing.T) {
	for want, blocks := range map[string]string{
		"I look.\n\nFound it.": `{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text","text":"Found it."}`,
		"I look. Found it.":    `{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text","text":" Found it."}`,
		"I look.\nFound it.":   `{"type":"text","text":"I look.\n"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text","text":"Found"},{"type":"text","text":" it."}`,
		"Found it.":            `{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text","text":"Found it."},{"type":"tool_use","id":"b","name":"f","input":{}}`,
	} {
		heard := ""
		resp, err := newClient(t, sayJSON(t, whole(blocks, "tool_use"))).Complete(t.Context(), hello(), func(d llmclient.Delta) { heard += d.Text })
		require.NoError(t, err)
		require.Equal(t, want, resp.Message.Text())
		require.Equal(t, want, heard)
	}
}

// Whoever asks for it hears the arguments of calls as they come.
func TestStream_callDeltas(t *testing.T) {
	s := sayEvents(t, stream("tool_use", textBlock("0", "hi"), callBlock("1", "a", "f", "", `{"x`, `":1}`), callBlock("2", "b", "g", `{}`))...)
	var got []llmclient.CallDelta
	ctx := llmclient.WithCallDeltas(t.Context(), func(d llmclient.CallDelta) { got = append(got, d) })
	_, err := newClient(t, s).Complete(ctx, hello(), func(llmclient.Delta) {})
	require.NoError(t, err)
	require.Equal(t, []llmclient.CallDelta{{ID: "a", Tool: "f", Text: `{"x`}, {ID: "a", Tool: "f", Text: `":1}`}, {Index: 1, ID: "b", Tool: "g", Text: `{}`}}, got)
	got = nil
	_, err = newClient(t, s).Complete(ctx, hello(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

// Calls are calls, whatever the stop reason says.
func TestW1_CallsWithoutTheirStopReason(t *testing.T) {
	for _, stop := range []string{"tool_use", "end_turn", "stop_sequence", "from the future"} {
		resp, err := ask(t, sayEvents(t, stream(stop, callBlock("0", "a", "f", "{}"))...))
		require.Equal(t, llmclient.FinishToolCalls, must(t, resp, err).Finish)
		resp, err = askWhole(t, sayJSON(t, strings.Replace(whole(`{"type":"tool_use","id":"a","name":"f","input":null}`, stop), `"stop_reason":`+quote(stop), `"stop_reason":null`, 1)))
		require.Equal(t, llmclient.FinishToolCalls, must(t, resp, err).Finish)
		require.Equal(t, []messages.ToolCall{call("a", "f", "{}")}, resp.Message.Calls())
	}
}

func TestW10_CallWithoutIDIsGivenOne(t *testing.T) {
	s := sayJSON(t, whole(`{"type":"tool_use","id":"","name":"f","input":{}},{"type":"tool_use","name":"f","input":{}},{"type":"tool_use","id":"x","name":"f","input":{}},{"type":"tool_use","id":"x","name":"f","input":{"a":1}}`, "tool_use"))
	resp, err := askWhole(t, s)
	require.Equal(t, []messages.ToolCall{call("call_1_0", "f", "{}"), call("call_1_1", "f", "{}"), call("x", "f", "{}"), call("call_1_2", "f", `{"a":1}`)}, must(t, resp, err).Message.Calls())
}

func TestW8_ContentDecidesNotContentType(t *testing.T) {
	for _, contentType := range []string{"text/plain", "text/event-stream", "application/json", ""} {
		resp, err := ask(t, say(t, 200, contentType, "\n "+whole(`{"type":"text","text":"hi"}`, "end_turn")))
		require.Equal(t, "hi", must(t, resp, err).Message.Text())
		resp, err = askWhole(t, say(t, 200, contentType, events(stream("end_turn", textBlock("0", "hi"))...)))
		require.Equal(t, "hi", must(t, resp, err).Message.Text())
	}
}

func TestKeepRaw_stream(t *testing.T) {
	data := stream("end_turn", textBlock("0", "hi"))
	resp, err := ask(t, sayEvents(t, data...), func(c *anthropic.Config) { c.KeepRaw = true })
	require.JSONEq(t, "["+strings.Join(data, ",")+"]", string(must(t, resp, err).Raw))
}

// The arguments of a call stand at its beginning, in its deltas, or in both.
func TestStream_argumentsTwice(t *testing.T) {
	block := func(input, args string) []string {
		return stream("tool_use", blockOf("0", `{"type":"tool_use","id":"a","name":"f","input":`+input+`}`, `{"type":"input_json_delta","partial_json":`+quote(args)+`}`))
	}
	for _, c := range []struct{ input, args, want string }{
		{`{}`, ``, `{}`},
		{`null`, ``, `{}`},
		{`{"x":1}`, ``, `{"x":1}`},
		{`{"x":1}`, `{}`, `{"x":1}`},
		{`{}`, `{"x":1}`, `{"x":1}`},
		{`{"x":1}`, `{"x": 1}`, `{"x": 1}`},
		{`{"x":1}`, `{"x"`, `{"x":1}`},
		{`{"x":1}`, `{"x":2}`, ""},
		{`""`, ``, `{}`},
		{`""`, `{"x":1}`, `{"x":1}`},
		{`"{}"`, `{"x":1}`, `{"x":1}`},
		{`"{\"x\":1}"`, ``, `{"x":1}`},
		{`"{\"x\":1}"`, `{"x":1}`, `{"x":1}`},
		{`[]`, `{"x":1}`, `{"x":1}`},
		{`{ }`, `{"x":1}`, `{"x":1}`},
		{`{"x":1000}`, `{"x":1e3}`, `{"x":1e3}`},
		{`{"x":[1]}`, `{"x": [1.0]}`, `{"x": [1.0]}`},
		{`"{\"x\":1}"`, `{"x":2}`, ""},
	} {
		resp, err := ask(t, sayEvents(t, block(c.input, c.args)...))
		if c.want == "" {
			require.Equal(t, llmclient.CodeBadResponse, err.Code)
			continue
		}
		require.Equal(t, []messages.ToolCall{call("a", "f", c.want)}, must(t, resp, err).Message.Calls(), c)
	}
	_, err := ask(t, sayEvents(t, messageStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`, messageStop))
	require.Equal(t, llmclient.CodeBadResponse, err.Code, "arguments for no call, and a call without arguments")
}
