// Package doctortest provides servers of models for tests: a perfect one, and servers with flaws.
package doctortest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// The model, the key and the base path of every server.
const (
	Model = "gpt-5-mini"
	Key   = "sk-canary-0123456789"
	Path  = "/v1"
)

// Server is a server of a model. Its flaws have the names of the findings of package doctor that
// they lead to.
type Server struct {
	*httptest.Server
	flaws []string
	t     *testing.T
	hang  chan struct{} // closed at the end of the test
	posts atomic.Int32  // questions so far
	calls int
}

// New starts a server with flaws; without any it is perfect. It ends with the test.
func New(t *testing.T, flaws ...string) *Server {
	t.Helper()
	s := &Server{flaws: flaws, t: t, hang: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(func() {
		close(s.hang)
		s.Close()
	})
	return s
}

// Base returns the base URL.
func (s *Server) Base() string { return s.URL + Path }

func (s *Server) has(flaw string) bool { return slices.Contains(s.flaws, flaw) }

// request is what the servers read of a request.
type request struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools  []any `json:"tools"`
	Format any   `json:"response_format"`
	Tokens int   `json:"max_tokens"`

	path string // of another API than Chat Completions; "": that
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.early(w, r) {
		return
	}
	switch r.URL.Path {
	case Path + "/models":
		s.models(w)
	case Path + "/chat/completions":
		var req request
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		if err != nil {
			s.t.Errorf("a request that is no JSON: %v", err)
		}
		s.chat(w, req)
	case Path + "/responses":
		s.other(w, r, "responses")
	case Path + "/messages":
		s.other(w, r, "messages")
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
	}
}

// early answers for flaws of the whole server.
func (s *Server) early(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case s.has("page"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
	case s.has("not_readable"):
		_, _ = io.WriteString(w, "Hello, I am a server.")
	case s.has("busy_later") && r.Method == http.MethodPost && s.posts.Add(1) > 3:
		w.Header().Set("Retry-After", "3600")
		s.fail(w, http.StatusTooManyRequests, "rate_limit_exceeded", "Slow down.")
	case s.has("down_later") && r.Method == http.MethodPost && s.posts.Add(1) > 3:
		s.fail(w, http.StatusServiceUnavailable, "overloaded", "Overloaded.")
	case s.has("rate_limited_once") && r.Method == http.MethodPost && s.posts.Add(1) == 1:
		s.fail(w, http.StatusTooManyRequests, "rate_limit_exceeded", "Slow down.")
	case s.has("hangs"):
		<-s.hang
	case s.has("redirect_away"):
		http.Redirect(w, r, "http://localhost:1/other"+r.URL.Path+"?key=secret", http.StatusPermanentRedirect)
	case s.has("server_error"):
		s.fail(w, http.StatusInternalServerError, "internal", "It broke.")
	case s.has("rate_limited"):
		w.Header().Set("Retry-After", "3600")
		s.fail(w, http.StatusTooManyRequests, "rate_limit_exceeded", "Slow down.")
	case s.has("no_credit"):
		s.fail(w, http.StatusTooManyRequests, "insufficient_quota", "You have no credit.")
	case r.Header.Get("Authorization") != "Bearer "+Key && r.Header.Get("X-Api-Key") != Key && !s.has("keyless"):
		s.fail(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+r.Header.Get("Authorization"))
	case s.has("silent") && r.Method == http.MethodPost:
		<-s.hang
	default:
		return false
	}
	return true
}

func (s *Server) fail(w http.ResponseWriter, status int, code, message string) {
	s.json(w, status, map[string]any{"error": map[string]any{"message": message, "type": "error", "code": code}})
}

func (s *Server) json(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Errorf("writing: %v", err)
	}
}

func (s *Server) models(w http.ResponseWriter) {
	if s.has("no_list") {
		s.fail(w, http.StatusNotFound, "not_found", "Nothing is here.")
		return
	}
	list := []any{
		map[string]any{"id": "gpt-5-nano", "object": "model", "context_window": 400000},
		map[string]any{"id": "house-model", "object": "model", "context_length": 8192, "pricing": map[string]any{"prompt": "0.0000005", "completion": "0.000002"}},
		map[string]any{"id": "text-embedder", "object": "model"},
	}
	if !s.has("model_not_listed") && !s.has("model_missing") {
		list = append(list, map[string]any{"id": Model, "object": "model", "context_window": 400000})
	}
	s.json(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

// chat answers a request to the model.
func (s *Server) chat(w http.ResponseWriter, req request) {
	if req.Model != Model || s.has("model_missing") {
		s.fail(w, http.StatusNotFound, "model_not_found", "The model "+req.Model+" does not exist.")
		return
	}
	first, last := req.Messages[0], req.Messages[len(req.Messages)-1]
	switch {
	case s.has("system_refused") && first.Role == "system":
		s.fail(w, http.StatusBadRequest, "", "System role not supported.")
	case s.has("request_refused"):
		s.fail(w, http.StatusBadRequest, "", "This is not allowed here.")
	case s.has("token_limit_refused") && req.Tokens > 0:
		s.fail(w, http.StatusBadRequest, "unsupported_parameter", "Unsupported parameter: 'max_tokens'.")
	case s.has("stream_refused") && req.Stream:
		s.fail(w, http.StatusBadRequest, "", "stream is not supported.")
	case req.Format != nil && !strings.Contains(string(first.Content), "get_weather"):
		s.structured(w, req)
	case last.Role == "tool" && s.has("results_refused"):
		s.fail(w, http.StatusBadRequest, "", "role tool is unknown.")
	case last.Role == "tool":
		s.send(w, req, s.text("It is 17 degrees in Paris.", "results_ignored"))
	case len(req.Tools) > 0:
		s.tools(w, req)
	case strings.Contains(string(first.Content), "get_weather") && strings.Contains(string(last.Content), "degrees"):
		s.send(w, req, s.text("It is 17 degrees in Paris.", "text_ignored"))
	case strings.Contains(string(first.Content), "get_weather"):
		s.send(w, req, message{text: s.called(string(first.Content))})
	default:
		s.send(w, req, s.text("My name is Heron. One, two, three, four, five, six, seven, eight, nine, ten.", "system_ignored"))
	}
}

// text returns a message, with another text if there is that flaw.
func (s *Server) text(text, flaw string) message {
	switch {
	case s.has(flaw):
		text = "I am the assistant, and I count to ten as slowly as the wind in the tall trees."
	case s.has("empty_reply"):
		text = ""
	case s.has("thoughts_in_text"):
		text = "<think>\nThey want a name.\n</think>\n" + text
	}
	m := message{text: text}
	if s.has("thoughts_apart") {
		m.thought = "They want a name."
	}
	return m
}

func (s *Server) structured(w http.ResponseWriter, req request) {
	text := `{"city":"Bern","people":137000}`
	switch {
	case s.has("schema_refused"):
		s.fail(w, http.StatusBadRequest, "", "response_format is not supported.")
		return
	case s.has("schema_failed"):
		s.fail(w, http.StatusBadRequest, "", "Invalid request.")
		return
	case s.has("schema_ignored"):
		text = "Bern has about 137000 people."
	case s.has("schema_fenced"):
		text = "```json\n" + text + "\n```"
	}
	s.send(w, req, message{text: text})
}

func (s *Server) tools(w http.ResponseWriter, req request) {
	switch {
	case s.has("no_tools"):
		s.fail(w, http.StatusBadRequest, "", "This model has no tools.")
	case s.has("tools_unused"):
		s.send(w, req, message{text: "I cannot know how warm it is."})
	case s.has("calls_as_text"):
		s.send(w, req, message{text: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"})
	case s.has("bad_arguments"):
		s.send(w, req, message{calls: []call{{"get_weather", `{"place": "Paris"}`}}})
	default:
		s.send(w, req, message{calls: []call{{"get_weather", `{"city": "Paris"}`}}})
	}
}

// called writes a call by instructions: those of fenced, unless there is a flaw.
func (s *Server) called(instructions string) string {
	fenced := !strings.Contains(instructions, "<tool_call>") && strings.Contains(instructions, "```")
	switch {
	case s.has("no_policy"), s.has("policy_unread"), s.has("hermes_only") && fenced:
		return "I would ask the weather."
	case s.has("hermes_always"), !fenced:
		return "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
	default:
		return "```tool_call\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"
	}
}
