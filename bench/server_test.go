package bench_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// server answers Chat Completions requests in order, from replies that were encoded in advance. It
// reads each request to its end without parsing it, so that only the clients are measured.
type server struct {
	*httptest.Server
	kind     string // of content
	bodies   [][]byte
	requests atomic.Int64

	mu   sync.Mutex
	kept [][]byte // request bodies, if keep is set
	keep bool
}

func newServer(kind string, bodies [][]byte) *server {
	s := &server{kind: kind, bodies: bodies}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	body := io.Discard
	var kept strings.Builder
	s.mu.Lock()
	keep := s.keep
	s.mu.Unlock()
	if keep {
		body = &kept
	}
	if _, err := io.Copy(body, r.Body); err != nil {
		return
	}
	if keep {
		s.mu.Lock()
		s.kept = append(s.kept, []byte(kept.String()))
		s.mu.Unlock()
	}
	n := int(s.requests.Add(1) - 1)
	w.Header().Set("Content-Type", s.kind)
	_, _ = w.Write(s.bodies[n%len(s.bodies)])
}

// record records the requests that run makes.
func (s *server) record(run func() error) ([][]byte, error) {
	s.mu.Lock()
	s.keep, s.kept = true, nil
	s.mu.Unlock()
	err := run()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = false
	return slices.Clone(s.kept), err
}

// bodies returns the replies of a script in the form that the provider sends, with all its fields.
func (s *script) bodies() [][]byte {
	var all [][]byte
	for i, r := range s.replies {
		finish, content, calls := "stop", `"`+r.text+`"`, ""
		if len(r.calls) > 0 {
			finish, content = "tool_calls", "null"
			var parts []string
			for _, c := range r.calls {
				parts = append(parts, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, c.id, c.name, c.arguments))
			}
			calls = `,"tool_calls":[` + strings.Join(parts, ",") + `]`
		}
		all = append(all, fmt.Appendf(nil, `{"id":"chatcmpl-%d","object":"chat.completion","created":1782321954,"model":"gpt-4o-2024-08-06",`+
			`"choices":[{"index":0,"message":{"role":"assistant","content":%s%s,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":%q}],`+
			`"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},`+
			`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},`+
			`"service_tier":"default","system_fingerprint":"fp_cbf1785567"}`, i, content, calls, finish))
	}
	return all
}

// events returns a reply as a stream of server-sent events.
func events(pieces []string) []byte {
	const chunk = `data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":1782321954,"model":"gpt-4o-2024-08-06",` +
		`"service_tier":"default","system_fingerprint":"fp_cbf1785567","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}` + "\n\n"
	var b strings.Builder
	fmt.Fprintf(&b, chunk, `{"role":"assistant","content":"","refusal":null}`, "null")
	for _, p := range pieces {
		fmt.Fprintf(&b, chunk, fmt.Sprintf(`{"content":%q}`, p), "null")
	}
	fmt.Fprintf(&b, chunk, `{}`, `"stop"`)
	b.WriteString(`data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":1782321954,"model":"gpt-4o-2024-08-06","choices":[],` +
		`"usage":{"prompt_tokens":20,"completion_tokens":2000,"total_tokens":2020}}` + "\n\ndata: [DONE]\n\n")
	return []byte(b.String())
}

// spoken returns the messages of a request, a line for each.
func spoken(body []byte) ([]string, error) {
	var req struct {
		Messages []wireMessage `json:"messages"`
		Tools    []any         `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("bench: a request is not JSON: %w", err)
	}
	var lines []string
	for _, m := range req.Messages {
		lines = append(lines, m.line())
	}
	return lines, nil
}
