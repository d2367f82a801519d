package openairesponses_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/messages"
)

// same asks for a reply whole and as a stream, which must be the same.
func same(t *testing.T, said speech) *llmclient.Response {
	t.Helper()
	resp, err := askWhole(t, sayJSON(t, said.whole()))
	want := must(t, resp, err)
	resp, err = ask(t, sayEvents(t, said.events()...))
	require.Equal(t, want, must(t, resp, err), "streamed as whole")
	resp, err = ask(t, sayJSON(t, said.whole()))
	require.Equal(t, want, must(t, resp, err), "whole where a stream was asked for")
	return want
}

func TestReply_everything(t *testing.T) {
	said := everything()
	resp := same(t, said)
	raw := func(i int) messages.Extras {
		name := "openai_reasoning"
		if said.items[i].kind != "reasoning" {
			name = "openai_item"
		}
		return messages.Extras{name: json.RawMessage(said.items[i].item(said.items[i].pieces...))}
	}
	require.Equal(t, &llmclient.Response{
		Message: messages.Assistant{Content: []messages.AssistantContent{
			messages.Thought{Text: "I look at both.", Extras: raw(0)},
			messages.Text{Text: "Both at once: ä."},
			call("a", "f", `{"x":1}`),
			messages.Thought{Extras: raw(3)},
			messages.Thought{Extras: raw(4)},
			call("b", "g", `{"y":12}`),
		}},
		Finish: llmclient.FinishToolCalls, Usage: messages.Usage{Input: 3, Output: 4, Total: 7, Cached: 1, Reasoning: 2},
		Model: "m1", Asked: "test-model", ID: "resp_1",
	}, resp)
	require.NoError(t, messages.History{
		messages.UserText("x"), resp.Message,
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "b"}},
	}.Validate())
}

// A summary has several parts, which are paragraphs; open models have their reasoning itself.
func TestReply_partsOfThoughts(t *testing.T) {
	const two = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"**One**"},{"type":"summary_text","text":"**Two**"}],"encrypted_content":"e"}`
	resp, err := ask(t, sayJSON(t, speech{}.response("completed", []string{two, text("hi").item("hi")})))
	require.Equal(t, "**One**\n\n**Two**", must(t, resp, err).Message.Thought())
	delta := func(kind string, part int, text string) string {
		return `{"type":"response.` + kind + `.delta","item_id":"rs_1","output_index":0,"summary_index":` + strconv.Itoa(part) + `,"delta":` + strconv.Quote(text) + `}`
	}
	end := speech{}.events()[2]
	resp, err = ask(t, sayEvents(t, delta("reasoning_summary_text", 0, "**On"), delta("reasoning_summary_text", 0, "e**"),
		delta("reasoning_summary_text", 1, "**Two**"), `{"type":"response.output_item.done","output_index":0,"item":`+two+`}`, end))
	require.Equal(t, "**One**\n\n**Two**", must(t, resp, err).Message.Thought())
	require.JSONEq(t, two, string(resp.Message.Content[0].(messages.Thought).Extras["openai_reasoning"]))

	const open = `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I think."}]}`
	resp, err = askWhole(t, sayJSON(t, speech{}.response("completed", []string{open})))
	require.Equal(t, "I think.", must(t, resp, err).Message.Thought())
	resp, err = ask(t, sayEvents(t, delta("reasoning_text", 0, "I "), delta("reasoning_text", 0, "think."), `{"type":"response.output_item.done","output_index":0,"item":`+open+`}`, end))
	require.Equal(t, []messages.AssistantContent{messages.Thought{Text: "I think.", Extras: messages.Extras{"openai_reasoning": json.RawMessage(open)}}}, must(t, resp, err).Message.Content)
}

func TestReply_refusalAndPhases(t *testing.T) {
	resp := same(t, speech{items: []part{{kind: "refusal", id: "msg_1", pieces: []string{"I will ", "not."}}}})
	require.Equal(t, "I will not.", resp.Message.Text())
	require.Equal(t, llmclient.FinishRefusal, resp.Finish)

	commentary, final := text("I look."), text("It is 4.")
	commentary.rest, final.rest, final.id = `,"phase":"commentary"`, `,"phase":"final_answer"`, "msg_2"
	resp = same(t, speech{items: []part{commentary, toolCall("a", "f", "{}"), final}})
	require.Equal(t, "I look.\n\nIt is 4.", resp.Message.Text(), "texts around a call are paragraphs, streamed, too")
	require.Equal(t, messages.Extras{"openai_phases": json.RawMessage(`["commentary","final_answer"]`)}, resp.Message.Extras)
}

// Two messages of one reply with no call between them are paragraphs, streamed and whole, and go
// back as they came.
func TestReply_twoMessages(t *testing.T) {
	first, second := text("I look."), text("It ", "is é.")
	second.id = "msg_2"
	for name, between := range map[string][]part{"nothing": nil, "reasoning": {thought("s")}} {
		t.Run(name, func(t *testing.T) {
			resp := same(t, speech{items: append(append([]part{first}, between...), second)})
			require.Equal(t, "I look.\n\nIt is é.", resp.Message.Text())
			var sent string
			s := refusing(t, "nothing", "", new(int))
			_, err := newClient(t, s).Complete(t.Context(), &llmclient.Request{Messages: messages.History{messages.UserText("a"), resp.Message, messages.UserText("b")}}, nil)
			require.NoError(t, err)
			sent, _ = s.Sent()
			require.Contains(t, sent, `"content":"I look."`)
			require.Contains(t, sent, `"content":"It is é."`)
		})
	}
	blank := text("\nIt is 4.")
	blank.id = "msg_2"
	resp := same(t, speech{items: []part{first, blank}})
	require.Equal(t, "I look.\nIt is 4.", resp.Message.Text(), "the model has written the break itself")
	require.Empty(t, resp.Message.Extras)

	const cites = `{"id":"m2","type":"message","content":[{"type":"output_text","text":"So.","annotations":[{"type":"url_citation","url":"https://a","start_index":0,"end_index":2}]}]}`
	resp, err := askWhole(t, sayJSON(t, speech{}.response("completed", []string{first.item("I look."), cites})))
	second2 := must(t, resp, err).Message.Content[1].(messages.Text)
	require.Equal(t, "So", second2.Text[second2.Citations[0].Start:second2.Citations[0].End])
}

// A part of a message that is neither a text nor a refusal, and the other fields of a call, are
// kept.
func TestReply_unknownIsKept(t *testing.T) {
	const message = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"},{"type":"output_picture","data":"x"}]}`
	const calling = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"a","name":"f","arguments":"{}","namespace":"n","caller":{"type":"direct"}}`
	resp, err := ask(t, sayJSON(t, speech{}.response("completed", []string{message, calling})))
	require.Equal(t, messages.Extras{"openai_parts": json.RawMessage(`[{"type":"output_picture","data":"x"}]`)}, must(t, resp, err).Message.Extras)
	require.Equal(t, messages.Extras{"openai_call": json.RawMessage(`{"namespace":"n","caller":{"type":"direct"}}`)}, resp.Message.Calls()[0].Extras)
}

func TestReply_citations(t *testing.T) {
	const list = `{"type":"url_citation","start_index":3,"end_index":6,"title":"T","url":"https://t.test"}`
	const rest = `{"type":"file_citation","index":2,"file_id":"file_1","filename":"a.pdf"},{"type":"container_file_citation","start_index":0,"end_index":99,"container_id":"c","file_id":"file_2","filename":"b.csv"},{"type":"file_path","file_id":"file_3","index":5}`
	item := `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"é: ","annotations":[]},{"type":"output_text","text":"öö see this","annotations":[` + list + `,` + rest + `]}]}`
	raw := strings.Split(strings.ReplaceAll(list+","+rest, "},{", "}\n{"), "\n")
	want := []messages.Citation{ // the second part begins at byte 4
		{Start: 4 + 5, End: 4 + 8, Title: "T", URL: "https://t.test", Raw: json.RawMessage(raw[0])},
		{Start: 4 + 4, End: 4 + 4, Title: "a.pdf", FileID: "file_1", Raw: json.RawMessage(raw[1])},
		{Start: 4, End: 4 + 13, Title: "b.csv", FileID: "file_2", Raw: json.RawMessage(raw[2])},
		{FileID: "file_3", Raw: json.RawMessage(raw[3])},
	}
	resp, err := askWhole(t, sayJSON(t, speech{}.response("completed", []string{item})))
	require.Equal(t, []messages.AssistantContent{messages.Text{Text: "é: öö see this", Citations: want}}, must(t, resp, err).Message.Content)
	require.Equal(t, "see", resp.Message.Text()[want[0].Start:want[0].End])

	bare := strings.ReplaceAll(item, list+","+rest, "") // one server sends annotations at the end only
	resp, err = ask(t, sayEvents(t, `{"type":"response.output_item.done","output_index":0,"item":`+bare+`}`, `{"type":"response.completed","response":`+speech{}.response("completed", []string{item})+`}`))
	require.Equal(t, want, must(t, resp, err).Message.Content[0].(messages.Text).Citations)
}

func TestReply_incomplete(t *testing.T) {
	cut := toolCall("b", "g", `{"y": `)
	cut.partial = true
	for reason, finish := range map[string]llmclient.FinishReason{
		"max_output_tokens": llmclient.FinishLength, "content_filter": llmclient.FinishContentFilter, "something_new": llmclient.FinishLength,
	} {
		resp := same(t, speech{items: []part{text("so"), toolCall("a", "f", "{}"), cut}, status: "incomplete", reason: reason})
		require.Equal(t, finish, resp.Finish)
		require.Equal(t, []messages.ToolCall{call("a", "f", "{}")}, resp.Message.Calls(), "a call that is cut is left out")
		require.Equal(t, "so", resp.Message.Text())
	}
	resp := same(t, speech{items: []part{toolCall("a", "f", `{"x": `)}})
	require.Equal(t, []messages.ToolCall{call("a", "f", `{"x": `)}, resp.Message.Calls(), "broken arguments of a whole reply stay")
}

func TestReply_usage(t *testing.T) {
	for body, want := range map[string]messages.Usage{
		`{"input_tokens":5,"output_tokens":2,"total_tokens":7,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"output_tokens_details":{"reasoning_tokens":1}}`: {Input: 5, Output: 2, Total: 7, Cached: 4, CacheWrites: 1, Reasoning: 1},
		`{"input_tokens":5,"output_tokens":2}`: {Input: 5, Output: 2, Total: 7},
		`{"input_tokens":5.0,"output_tokens":"2","total_tokens":null,"input_tokens_details":null,"x":{}}`: {Input: 5, Total: 5},
		`{"input_tokens":-5,"output_tokens":1e300}`:                                                       {},
		`null`: {},
	} {
		got := same(t, speech{items: []part{text("x")}, usage: body}).Usage
		if want == (messages.Usage{}) {
			want = messages.Usage{Input: got.Input, Output: got.Output, Total: got.Input + got.Output, Estimated: got.Total}
		}
		require.Equal(t, want, got, body)
	}
}

func TestRaw_IsKeptOnRequest(t *testing.T) {
	keep := func(cfg *openairesponses.Config) { cfg.KeepRaw = true }
	said := everything()
	resp, err := askWhole(t, sayJSON(t, "\n"+said.whole()), keep)
	require.Equal(t, said.whole(), string(must(t, resp, err).Raw))
	resp, err = ask(t, sayEvents(t, said.events()...), keep)
	require.Equal(t, "["+strings.Join(said.events(), ",")+"]", string(must(t, resp, err).Raw))
}

// Whoever asks for it hears the arguments of calls as they come.
func TestStream_callDeltas(t *testing.T) {
	s := sayEvents(t, speech{items: []part{toolCall("a", "f", `{"x`, `":1}`), text("so"), toolCall("b", "g", `{}`)}}.events()...)
	var got []llmclient.CallDelta
	ctx := llmclient.WithCallDeltas(t.Context(), func(d llmclient.CallDelta) { got = append(got, d) })
	_, err := newClient(t, s).Complete(ctx, hello(), func(llmclient.Delta) {})
	require.NoError(t, err)
	want := []llmclient.CallDelta{{ID: "a", Tool: "f", Text: `{"x`}, {ID: "a", Tool: "f", Text: `":1}`}, {Index: 1, ID: "b", Tool: "g", Text: `{}`}}
	require.Equal(t, want, got)
	_, err = newClient(t, s).Complete(ctx, hello(), nil)
	require.NoError(t, err)
	require.Equal(t, want, got, "not at all of a reply that is not streamed")
}
