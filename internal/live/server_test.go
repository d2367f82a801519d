package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a model may take, so that a suite ends.
const (
	tokensOfReply = 400
	timeOfTask    = time.Minute
	timeOfSuite   = 44 // times the time of a task: with all else, less than 45 minutes
)

// model is a real model.
type model struct {
	name    string
	baseURL string
	key     string
	task    time.Duration // how long it may work for a task; for all of them, timeOfSuite times as long
}

// fromEnvironment returns the model that the environment names, and which variables are missing.
func fromEnvironment(getenv func(string) string) (m model, missing []string, err error) {
	for _, name := range []string{"OPENAI_API_KEY", "SEGUE_MODEL"} {
		if getenv(name) == "" {
			missing = append(missing, name)
		}
	}
	m = model{
		name: getenv("SEGUE_MODEL"), key: getenv("OPENAI_API_KEY"), baseURL: strings.TrimSuffix(getenv("OPENAI_BASE_URL"), "/"),
		task: timeOfTask,
	}
	if slower := getenv("SEGUE_LIVE_TASK"); slower != "" {
		m.task, err = time.ParseDuration(slower)
	}
	if m.baseURL == "" {
		m.baseURL = "https://api.openai.com/v1"
	}
	return m, missing, err
}

// fileOf returns the file of the recording of a model.
func fileOf(dir, model string) string {
	return filepath.Join(dir, regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(model, "_")+".jsonl")
}

// server is what the tasks ask. It answers from a recording; what is not there it asks a real
// model, if it has one, and records the answer. A path is PLACE/v1/chat/completions, where PLACE
// names the task.
type server struct {
	*httptest.Server
	model string // its name
	asked *model // nil: only the recording answers
	rec   *recording
	to    *http.Transport // to the real model

	mu      sync.Mutex // held while a model is asked: one request at a time
	spent   map[string]time.Duration
	total   time.Duration
	late    map[string]bool
	missing map[string]int
}

// newServer starts a server. The caller closes it.
func newServer(name string, asked *model, rec *recording) *server {
	s := &server{model: name, asked: asked, rec: rec, spent: map[string]time.Duration{}, late: map[string]bool{}, missing: map[string]int{}}
	s.to = http.DefaultTransport.(*http.Transport).Clone()
	s.to.DisableKeepAlives = true // some servers close a connection just when it is used again
	s.Server = httptest.NewServer(s)
	return s
}

// Close ends the server and its connections.
func (s *server) Close() {
	s.Server.Close()
	s.to.CloseIdleConnections()
}

// troubles returns whether the time of a task was over, and how many of its requests no recording
// answers.
func (s *server) troubles(place string) (late bool, missing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late[place], s.missing[place]
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	place, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/v1/chat/completions")
	var request map[string]json.RawMessage // in schemas and calls, the order of names is that of the request
	err := json.NewDecoder(r.Body).Decode(&request)
	if !ok || err != nil {
		refuse(w, fmt.Sprintf("live: %s is no request of the suite: %v", r.URL.Path, err))
		return
	}
	request["temperature"], request["max_tokens"] = json.RawMessage("0"), json.RawMessage(strconv.Itoa(tokensOfReply))
	one, err := s.answer(r.Context(), place, request)
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
	_, _ = w.Write(refusal(why))
}

func refusal(why string) json.RawMessage {
	body, err := marshal(map[string]any{"error": map[string]any{"message": why}})
	if err != nil {
		panic(err)
	}
	return body
}

// answer returns the reply to a request. That the time of a task was over is a reply, too, to this
// request of this task alone.
func (s *server) answer(ctx context.Context, place string, request map[string]json.RawMessage) (reply, error) {
	key, err := keyOf(request)
	if err != nil {
		return reply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lateKey := place + " " + key
	if one, ok := s.rec.take(lateKey); ok {
		s.late[place] = true
		return one, nil
	}
	if one, ok := s.rec.take(key); ok {
		return one, nil
	}
	if s.asked == nil {
		s.missing[place]++
		return reply{}, fmt.Errorf("live: the recording of %s has no reply to a request of %s: record anew with make live", s.model, place)
	}
	status, answer, err := s.ask(ctx, place, request)
	var one reply
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.late[place] = true
		one = reply{Key: lateKey, Status: http.StatusBadRequest, Body: refusal("live: the time of this task is over")}
	case err != nil:
		return reply{}, err
	default:
		if one, err = newReply(key, status, answer); err != nil {
			return reply{}, err
		}
		if status == http.StatusTooManyRequests || status >= 500 {
			return one, nil // the client asks again
		}
	}
	s.rec.replies[one.Key], s.rec.used[one.Key] = one, true
	return one, s.rec.add(one)
}

// ask asks the real model, within the time that is left.
func (s *server) ask(ctx context.Context, place string, request map[string]json.RawMessage) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(s.asked.task-s.spent[place], timeOfSuite*s.asked.task-s.total))
	defer cancel()
	if ctx.Err() != nil {
		return 0, nil, context.DeadlineExceeded
	}
	began := time.Now()
	defer func() {
		s.spent[place] += time.Since(began)
		s.total += time.Since(began)
	}()
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
