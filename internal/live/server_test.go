package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/openaichat"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
)

const canary = "sk-canary-7f3a9c51e2"

// server is a Chat Completions server with a model that does the tasks of the suite.
type server struct {
	*httptest.Server
	whole, streamed atomic.Int64 // number of requests
	repeatsKey      atomic.Bool  // the model repeats the key that it was sent
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

// answer answers one request.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	sent := r.Header.Get("Authorization")
	if sent != "Bearer "+canary || r.URL.Path != "/v1/chat/completions" {
		http.Error(w, `{"error":{"message":"refused: `+sent+`"}}`, http.StatusUnauthorized)
		return
	}
	var req wireRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, fmt.Sprint("unreadable: ", err)), http.StatusBadRequest)
		return
	}
	said := req.reply()
	if s.repeatsKey.Load() {
		said.Content = canary
	}
	if req.Stream {
		s.streamed.Add(1)
		stream(w, said)
		return
	}
	s.whole.Add(1)
	finish := "stop"
	if len(said.ToolCalls) > 0 {
		finish = "tool_calls"
	}
	send(w, map[string]any{"id": "r", "model": req.Model, "choices": []any{
		map[string]any{"index": 0, "message": said, "finish_reason": finish},
	}, "usage": usage})
}

func (s *server) config() openaichat.Config {
	return openaichat.Config{
		Model: "local", APIKey: canary, BaseURL: s.URL + "/v1", NoEnvironment: true, HTTPClient: s.Client(),
	}
}

var usage = map[string]int{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

type wireRequest struct {
	Model          string           `json:"model"`
	Messages       []wireMessage    `json:"messages"`
	Tools          []wireTool       `json:"tools"`
	Stream         bool             `json:"stream"`
	ResponseFormat *json.RawMessage `json:"response_format"`
}

type wireTool struct {
	Function wireFunction `json:"function"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func (r wireRequest) offers(tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t wireTool) bool { return t.Function.Name == tool })
}

func (r wireRequest) last() wireMessage { return r.Messages[len(r.Messages)-1] }

// says reports whether a message holds a text.
func (r wireRequest) says(text string) bool {
	return slices.ContainsFunc(r.Messages, func(m wireMessage) bool { return strings.Contains(m.Content, text) })
}

func text(s string) wireMessage { return wireMessage{Role: "assistant", Content: s} }

func (r wireRequest) call(name, arguments string) wireMessage {
	return wireMessage{Role: "assistant", ToolCalls: []wireCall{{
		ID: fmt.Sprint("call_", len(r.Messages)), Type: "function", Function: wireFunction{Name: name, Arguments: arguments},
	}}}
}

// operands returns the numbers to add, as JSON.
func (r wireRequest) operands() string {
	if r.says("Add 8") {
		return `{"A":42,"B":8}`
	}
	return `{"A":19.5,"B":22.5}`
}

// reply returns the model's reply.
func (r wireRequest) reply() wireMessage {
	added := r.last().Role == "tool" || strings.Contains(r.last().Content, "Observation: 42")
	switch {
	case r.offers(pre.SubmitPlan):
		return r.call(pre.SubmitPlan, `{"steps":[{"id":"a","goal":"`+sum+`"},{"id":"b","goal":"Add 8 to that sum with the tool add.","depends_on":["a"]}]}`)
	case r.offers(pre.SubmitEvaluation):
		return r.call(pre.SubmitEvaluation, `{"approved":true}`)
	case r.offers(rao.DecideNext):
		return r.call(rao.DecideNext, `{"plan":"Add the numbers.","tools_to_consider":["add"],"finish":false}`)
	case r.offers(rao.ObserveDecide):
		return r.call(rao.ObserveDecide, `{"observation":"The sum is known.","should_continue":false,"final_answer":"The sum is 42."}`)
	case r.offers("add") && r.last().Role == "tool" && r.says("42") && !strings.Contains(r.last().Content, "Noted"):
		return text("The sum is " + r.last().Content + ".")
	case r.offers("add"):
		return r.call("add", r.operands())
	case r.ResponseFormat != nil:
		return text(`{"city":"Paris","country":"France"}`)
	case r.says("capital of France"):
		return text("Paris")
	}
	return r.inWords(added)
}

// inWords returns the model's reply if no tools are offered.
func (r wireRequest) inWords(added bool) wireMessage {
	switch {
	case strings.Contains(r.last().Content, "APPROVED"):
		return text("APPROVED")
	case strings.Contains(r.last().Content, "All steps of the plan are done"):
		return text("The sum is 50.")
	case r.says("Final Answer") && added:
		return text("Thought: The sum is known.\nFinal Answer: The sum is 42.")
	case r.says("Final Answer"):
		return text("Thought: The tool adds.\nAction: add\nAction Input: " + r.operands())
	case r.says("```tool_call") && r.says("```tool_result"):
		return text("The sum is 42.")
	case r.says("```tool_call"):
		return text("I will add them.\n```tool_call\n{\"name\":\"add\",\"arguments\":" + r.operands() + "}\n```")
	default:
		return text("I do not understand.")
	}
}

func send(w io.Writer, v any) {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s", data)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// stream sends a message as events: text and arguments in two pieces, as models do.
func stream(w http.ResponseWriter, said wireMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(delta any, finish *string) {
		_, _ = io.WriteString(w, "data: ")
		send(w, map[string]any{"id": "r", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		_, _ = io.WriteString(w, "\n\n")
		w.(http.Flusher).Flush()
	}
	half := len(said.Content) / 2
	finish := "stop"
	event(map[string]any{"role": "assistant", "content": said.Content[:half]}, nil)
	event(map[string]any{"content": said.Content[half:]}, nil)
	for _, c := range said.ToolCalls {
		finish = "tool_calls"
		rest := wireCall{Index: c.Index, Function: wireFunction{Arguments: c.Function.Arguments[1:]}}
		c.Function.Arguments = c.Function.Arguments[:1]
		event(map[string]any{"tool_calls": []wireCall{c}}, nil)
		event(map[string]any{"tool_calls": []wireCall{rest}}, nil)
	}
	event(map[string]any{}, &finish)
	_, _ = io.WriteString(w, "data: ")
	send(w, map[string]any{"id": "r", "choices": []any{}, "usage": usage})
	_, _ = io.WriteString(w, "\n\ndata: [DONE]\n\n")
}

// The server is still running when the suite has ended, and the suite leaves no connection to it.
func TestSuite_leavesNoConnection(t *testing.T) {
	var s server
	var connections atomic.Int64
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			connections.Add(1)
		case http.StateClosed:
			connections.Add(-1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	s.Start()
	defer s.Close()
	cfg := s.config()
	cfg.HTTPClient = nil // as in make live
	t.Run("suite", func(t *testing.T) { live(t, cfg, t.TempDir()) })
	require.Eventually(t, func() bool { return connections.Load() == 0 }, time.Minute, time.Millisecond)
}

// The suite works: with a server that speaks the protocol every task succeeds, in every mode, and
// succeeds again with the recordings, without the server.
func TestSuite_onALocalServer(t *testing.T) {
	s := newServer(t)
	dir := folder(t.TempDir(), "local")
	live(t, s.config(), dir)
	require.Positive(t, s.whole.Load())
	require.Positive(t, s.streamed.Load())
	asked := s.whole.Load() + s.streamed.Load()
	replay(t, dir)
	require.Equal(t, asked, s.whole.Load()+s.streamed.Load(), "a recording asks nobody")
}
