package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// tokensOfReply is how many tokens a reply may have, so that it ends.
const tokensOfReply = 400

// model is a real model.
type model struct {
	name    string
	baseURL string
	key     string
}

// fromEnvironment returns the model that the environment names, and which variables are missing.
func fromEnvironment(getenv func(string) string) (m model, missing []string) {
	for _, name := range []string{"OPENAI_API_KEY", "SEGUE_MODEL"} {
		if getenv(name) == "" {
			missing = append(missing, name)
		}
	}
	base := cmp.Or(getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1")
	return model{name: getenv("SEGUE_MODEL"), key: getenv("OPENAI_API_KEY"), baseURL: strings.TrimSuffix(base, "/")}, missing
}

// fileOf returns the file of the recording of a model.
func fileOf(dir, model string) string {
	return filepath.Join(dir, regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(model, "_")+".jsonl")
}

// server is what the trials ask. It answers from a recording; what is not there it asks a real
// model, if it has one, and records the answer.
type server struct {
	*httptest.Server
	model string // its name
	asked *model // nil: only the recording answers
	rec   *recording
	to    *http.Transport // to the real model

	mu      sync.Mutex // held while a model is asked: one request at a time
	missing int        // requests that no recording answers
}

// newServer starts a server. The caller closes it.
func newServer(name string, asked *model, rec *recording) *server {
	s := &server{model: name, asked: asked, rec: rec, to: http.DefaultTransport.(*http.Transport).Clone()}
	s.to.DisableKeepAlives = true // some servers close a connection just when it is used again
	s.Server = httptest.NewServer(s)
	return s
}

// Close ends the server and its connections.
func (s *server) Close() {
	s.Server.Close()
	s.to.CloseIdleConnections()
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request map[string]json.RawMessage // in schemas and calls, the order of names is that of the request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
		refuse(w, fmt.Sprintf("live: %s is no request of a trial: %v", r.URL.Path, err))
		return
	}
	request["temperature"], request["max_tokens"] = json.RawMessage("0"), json.RawMessage(strconv.Itoa(tokensOfReply))
	one, err := s.answer(r.Context(), request)
	if err == nil {
		err = one.send(w)
	}
	if err != nil {
		refuse(w, err.Error())
	}
}

// refuse answers with an error that no client takes for a passing one.
func refuse(w http.ResponseWriter, why string) {
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": why}})
}

// answer returns the reply to a request.
func (s *server) answer(ctx context.Context, request map[string]json.RawMessage) (reply, error) {
	key, err := keyOf(request)
	if err != nil {
		return reply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.rec.take(key); ok {
		return one, nil
	}
	if s.asked == nil {
		s.missing++
		return reply{}, fmt.Errorf("live: the recording of %s has no reply to this request: record anew with make live", s.model)
	}
	status, answer, err := s.ask(ctx, request)
	if err != nil {
		return reply{}, err
	}
	one, err := newReply(key, status, answer)
	if err != nil || status == http.StatusTooManyRequests || status >= 500 { // the client asks again
		return one, err
	}
	s.rec.replies[key], s.rec.used[key] = one, true
	return one, s.rec.add(one)
}

// ask asks the real model.
func (s *server) ask(ctx context.Context, request map[string]json.RawMessage) (status int, answer []byte, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.asked.baseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.asked.key)
	resp, err := (&http.Client{Transport: s.to}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}
