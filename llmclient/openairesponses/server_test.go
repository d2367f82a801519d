package openairesponses_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an HTTP server that records its requests.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	body []byte
	head http.Header
	path string
}

func serve(t testing.TB, answer http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.body, s.head, s.path = body, r.Header, r.URL.Path
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) sent() (string, http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.body), s.head
}

// say answers every request with one body.
func say(t testing.TB, status int, contentType, body string) *server {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func sayJSON(t testing.TB, body string) *server { return say(t, 200, "application/json", body) }

// sayEvents answers with an event stream: each text is the data of one event.
func sayEvents(t testing.TB, data ...string) *server {
	return say(t, 200, "text/event-stream", stream(data...))
}

func newClient(t testing.TB, s *server, change ...func(*openairesponses.Config)) *openairesponses.Client {
	cfg := openairesponses.Config{Model: "test-model", APIKey: "sk-canary-0123456789", BaseURL: s.URL + "/v1", HTTPClient: s.Client(), MaxRetries: -1}
	for _, f := range change {
		f(&cfg)
	}
	client, err := openairesponses.New(cfg)
	require.NoError(t, err)
	return client
}

func hello() *llmclient.Request {
	return &llmclient.Request{Messages: messages.History{messages.UserText("hello")}}
}

// pieces collects deltas and joins them by kind.
type pieces struct {
	list []llmclient.Delta
}

func (p *pieces) add(d llmclient.Delta) { p.list = append(p.list, d) }

func (p *pieces) join(kind llmclient.DeltaKind) string {
	var b strings.Builder
	for _, d := range p.list {
		if d.Kind == kind {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

// ask asks for a stream and checks that the streamed parts equal the returned reply.
func ask(t testing.TB, s *server, change ...func(*openairesponses.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	var got pieces
	resp, err := newClient(t, s, change...).Complete(context.Background(), hello(), got.add)
	if err != nil {
		require.Nil(t, resp)
		return nil, asError(t, err)
	}
	require.Equal(t, resp.Message.Text(), got.join(llmclient.DeltaText))
	require.Equal(t, resp.Message.Thought(), got.join(llmclient.DeltaThought))
	return resp, nil
}

// askWhole asks without a stream.
func askWhole(t testing.TB, s *server, change ...func(*openairesponses.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	resp, err := newClient(t, s, change...).Complete(context.Background(), hello(), nil)
	if err != nil {
		return nil, asError(t, err)
	}
	return resp, nil
}

func must(t testing.TB, resp *llmclient.Response, err *llmclient.Error) *llmclient.Response {
	t.Helper()
	if err != nil {
		require.NoError(t, err)
	}
	return resp
}

func asError(t testing.TB, err error) *llmclient.Error {
	t.Helper()
	var e *llmclient.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Code)
	require.Equal(t, "test-model", e.Model)
	return e
}

func call(id, name, args string) messages.ToolCall {
	return messages.ToolCall{ID: id, Name: name, Arguments: args}
}

// nowhere is a server that is never asked.
func nowhere() *server { return &server{Server: &httptest.Server{URL: "http://nowhere.test"}} }

// half are the first events of a reply, up to its first piece of text.
func half() []string { return speech{items: []part{text("half", "whole")}}.events()[:5] }
