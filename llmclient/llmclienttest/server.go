package llmclienttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
)

// Server is an HTTP server that keeps what it is sent.
type Server struct {
	*httptest.Server

	mu     sync.Mutex
	bodies []string
	last   *http.Request
	from   map[string]bool
}

// Serve starts a server for a test.
func Serve(t testing.TB, answer http.HandlerFunc) *Server {
	t.Helper()
	s := &Server{from: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies, s.last, s.from[r.RemoteAddr] = append(s.bodies, string(body)), r, true
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Say starts a server that gives every request the same answer.
func Say(t testing.TB, status int, contentType, body string) *Server {
	t.Helper()
	return Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// Sent returns the body and the header of the last request; they are empty if there was none.
func (s *Server) Sent() (body string, head http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return "", nil
	}
	return s.bodies[len(s.bodies)-1], s.last.Header
}

// Path returns the path of the last request, with its query.
func (s *Server) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return ""
	}
	return s.last.URL.RequestURI()
}

// Ask greets a model, and fails the test unless the pieces of a stream are those of the reply, or
// the error is an [llmclient.Error] that names its kind and the model, and comes alone.
func Ask(t testing.TB, c llmclient.Client, stream bool) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	heard := map[llmclient.DeltaKind]string{}
	var onDelta func(llmclient.Delta)
	if stream {
		onDelta = func(d llmclient.Delta) { heard[d.Kind] += d.Text }
	}
	resp, err := c.Complete(context.Background(), hello(), onDelta)
	if err != nil {
		require.Nil(t, resp)
		e, ok := errors.AsType[*llmclient.Error](err)
		require.True(t, ok, "%T", err)
		require.NotEmpty(t, e.Code)
		require.NotEmpty(t, e.Model)
		require.NotContains(t, err.Error(), "canary")
		return nil, e
	}
	if stream {
		require.Equal(t, resp.Message.Text(), heard[llmclient.DeltaText])
		require.Equal(t, resp.Message.Thought(), heard[llmclient.DeltaThought])
	}
	return resp, nil
}
