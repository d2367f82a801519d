package anthropic_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// sentRequest is what a thought is bound to, with the thoughts.
type sentRequest struct {
	System, Tools json.RawMessage
	Messages      []sentMessage
}

type sentMessage struct {
	Role    string
	Content []map[string]any
}

// seal signs a thought that comes behind n messages, as newer models do: with all that is before
// it, the thoughts too.
func (r *sentRequest) seal(t *testing.T, n int) string {
	before, err := json.Marshal([]any{r.System, r.Tools, r.Messages[:n]})
	require.NoError(t, err)
	sum := sha256.Sum256(before)
	return hex.EncodeToString(sum[:8])
}

// preserving is a server that signs its thoughts so, refuses others, and counts the requests.
func preserving(t *testing.T, asked *int) *server {
	var s *server
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		*asked++
		w.Header().Set("Content-Type", "application/json")
		var req sentRequest
		body, _ := s.Sent()
		if err := json.Unmarshal([]byte(body), &req); err != nil {
			t.Error(err)
		}
		for i, m := range req.Messages {
			for _, c := range m.Content {
				if s, signed := c["signature"]; signed && s != req.seal(t, i) {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, errorBody("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."))
					return
				}
			}
		}
		if strings.HasSuffix(r.URL.Path, "count_tokens") {
			_, _ = io.WriteString(w, `{"input_tokens":7}`)
			return
		}
		_, _ = io.WriteString(w, whole(`{"type":"thinking","thinking":"t","signature":"`+req.seal(t, len(req.Messages))+`"},{"type":"text","text":"ok"}`, "end_turn"))
	})
	return s
}

// Newer models refuse a thought in another conversation than the one that it was made for: with
// other tools, as a search for tools has them, or without its beginning, as after a compaction.
func TestThoughts_boundToAConversation(t *testing.T) {
	asked := 0
	s := preserving(t, &asked)
	client := newClient(t, s)
	req := &llmclient.Request{Messages: messages.History{messages.UserText("a"), messages.UserText("b")}, Tools: []tools.Definition{{Name: "f"}}}
	// turn asks, and returns how many requests this took and how many thoughts were in the last.
	turn := func(change func()) (requests, thoughts int) {
		change()
		before := asked
		resp, err := client.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.Len(t, resp.Attempts, asked-before-1, "a refused request is listed")
		body, _ := s.Sent()
		req.Messages = append(req.Messages, resp.Message, messages.UserText("c"))
		return asked - before, strings.Count(body, `"type":"thinking"`)
	}
	for i, tt := range []struct {
		change             func()
		requests, thoughts int
	}{
		{func() {}, 1, 0},
		{func() {}, 1, 1},
		{func() {}, 1, 2},
		{func() { req.Tools = append(req.Tools, tools.Definition{Name: "g"}) }, 2, 0},
		{func() {}, 1, 1},
		{func() { req.Messages = slices.Clone(req.Messages[1:]) }, 2, 0},
		{func() {}, 1, 1},
	} {
		requests, thoughts := turn(tt.change)
		require.Equal(t, []int{tt.requests, tt.thoughts}, []int{requests, thoughts}, "turn %d", i)
	}

	side := *req // such as a critique: what is refused there is not in the conversation
	side.Tools = nil
	resp, err := client.Complete(t.Context(), &side, nil)
	require.NoError(t, err)
	require.Len(t, resp.Attempts, 1)
	requests, thoughts := turn(func() {})
	require.Equal(t, []int{1, 2}, []int{requests, thoughts})

	req.Tools, asked = nil, 0
	n, err := client.CountTokens(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, []int{7, 2}, []int{int(n), asked})
}

// A request that is refused without thoughts, too, is not made a third time; one that has none is
// not made twice.
func TestThoughts_refusedForGood(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, errorBody("invalid_request_error", "Invalid `signature` in `thinking` block"))
	})
	h := messages.History{messages.UserText("a"), said(signed("t", "s"), messages.Text{Text: "b"}), messages.UserText("c")}
	_, err := newClient(t, s).Complete(t.Context(), &llmclient.Request{Messages: h}, nil)
	require.Len(t, asError(t, err).Attempts, 1)
	require.Equal(t, 2, asked)

	_, err = newClient(t, s).Complete(t.Context(), hello(), nil)
	require.Empty(t, asError(t, err).Attempts)
	require.Equal(t, 3, asked)
}

// "`web_search` tool use with id … was found without a corresponding `web_search_tool_result`
// block": a reply that was cut, or broke off, ends with such a call.
func TestEncode_callsOfTheServer(t *testing.T) {
	own := func(block string) messages.Thought {
		return messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage(block)}}
	}
	search := own(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)
	found := own(`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`)
	b, c := messages.Text{Text: "b"}, messages.UserText("c")
	for name, tt := range map[string]struct {
		h    []messages.Message
		sent bool
	}{
		"with a result":              {[]messages.Message{said(b, search, found), c}, true},
		"a result in the next reply": {[]messages.Message{said(b, search), said(found, b), c}, true},
		"the server goes on":         {[]messages.Message{said(b, search)}, true},
		"beside calls of tools":      {[]messages.Message{said(b, search, call("1", "f", "{}")), output("1", "x")}, true},
		"in the second round of calls": {[]messages.Message{
			said(b, search, call("1", "f", "{}")), output("1", "x"), said(call("2", "f", "{}")), output("2", "y"),
		}, true},
		"without a result":           {[]messages.Message{said(b, search), c}, false},
		"without one in a long talk": {[]messages.Message{said(b, search), c, said(b), c, said(b)}, false},
		"after results of tools":     {[]messages.Message{said(b, search, call("1", "f", "{}")), output("1", "x"), c}, false},
		"no JSON":                    {[]messages.Message{said(b, search, own(`{"type`)), c}, false},
	} {
		body, err := anthropic.Encode(config{}, one(append([]messages.Message{messages.UserText("a")}, tt.h...)...), false)
		if name == "no JSON" {
			require.ErrorContains(t, err, "is not a JSON object")
			continue
		}
		require.Nil(t, err, name)
		require.Equal(t, tt.sent, strings.Contains(string(body), "server_tool_use"), "%s: %s", name, body)
	}
}

// A summary that Anthropic makes of a conversation goes back as it came, streamed or not.
func TestResult_compaction(t *testing.T) {
	const summary = `{"type":"compaction","content":"a \"b\"","encrypted_content":"EncX"}`
	for _, stop := range []string{"end_turn", "compaction"} {
		for _, begin := range []string{`{"type":"compaction","content":null}`, `{"type":"compaction","content":"","encrypted_content":""}`} {
			streamed, err := ask(t, sayEvents(t, stream(stop, blockOf("0", begin,
				`{"type":"compaction_delta","content":"a \"","encrypted_content":"Enc"}`, `{"type":"compaction_delta","content":"b\"","encrypted_content":"X"}`))...))
			got := must(t, streamed, err).Message
			require.Equal(t, []messages.AssistantContent{messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage(summary)}}}, got.Content)
			require.Contains(t, conversation(t, config{}, messages.UserText("a"), got, messages.UserText("b")), summary)
		}
		const failed = `{"type":"compaction","content":null}`
		broken, err := ask(t, sayEvents(t, stream(stop, blockOf("0", failed, `{"type":"compaction_delta","content":null}`))...))
		require.JSONEq(t, failed, string(must(t, broken, err).Message.Content[0].(messages.Thought).Extras["anthropic_block"]))
		resp, err := askWhole(t, sayJSON(t, whole(summary, stop)))
		require.JSONEq(t, summary, string(must(t, resp, err).Message.Content[0].(messages.Thought).Extras["anthropic_block"]))
	}
}

// The result of a tool of Anthropic's comes whole, so that a cut behind it does not lose it.
func TestResult_cutBehindAResult(t *testing.T) {
	use := `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`
	result := `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`
	for _, stop := range []string{"max_tokens", "model_context_window_exceeded", "refusal"} {
		streamed, err := ask(t, sayEvents(t, stream(stop, blockOf("0", use), blockOf("1", result))...))
		parts := must(t, streamed, err).Message.Content
		require.Len(t, parts, 2)
		require.JSONEq(t, result, string(parts[1].(messages.Thought).Extras["anthropic_block"]))
		got, err := askWhole(t, sayJSON(t, whole(use+","+result, stop)))
		require.Equal(t, parts, must(t, got, err).Message.Content)
	}
}
