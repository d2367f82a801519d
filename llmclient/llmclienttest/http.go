package llmclienttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// HTTP is how one of this library's clients of models over HTTP is made, and what its provider
// answers.
type HTTP struct {
	// New returns a client that takes nothing of the environment.
	New func(Settings) llmclient.Client

	Whole      string // a reply: "half, and whole"
	Half, Rest string // an event stream with that text, in pieces behind "half" and at the end
	Refusal    string // the error of a server that refuses the schema of the tool named odd

	// Replies are one reply each, as a stream or whole: all that a reply can have, with a text and
	// calls. They are cut at every byte, or at every Step-th.
	Replies []string
	Step    int

	// Turns are whole replies, with which a conversation goes on: thoughts, calls of the tools f
	// and g, an empty reply, and one that was cut. What the provider's cache has to find again of
	// each request is the field Body[0], a list, and the fields of the other names as they were.
	Turns []string
	Body  []string
}

// Settings are those of a client.
type Settings struct {
	URL, Key    string
	Client      *http.Client
	Retries     int
	Idle        time.Duration
	MaxResponse int64

	Header, Query string // secrets that the program sends too, in a header and a parameter of its own
}

// Run checks in subtests what clients over HTTP have in common: limits of time and size, ends of
// contexts and connections, redirects, retries, secrets, tools that a server refuses, replies that
// are cut or come in pieces, and requests that go on with a conversation.
func (h HTTP) Run(t *testing.T) {
	t.Helper()
	for name, check := range map[string]func(*testing.T){
		"silence": h.silence, "slow": h.slow, "contexts": h.contexts, "caller": h.caller, "broken connections": h.brokenConnections, "bounds": h.bounds,
		"connections are reused": h.reused, "redirects": h.redirects, "circles": h.circles, "retries": h.retries, "secrets": h.secrets, "refused tools": h.refusedTools,
		"cut at any byte": h.cut, "in pieces": h.inPieces, "prefix": h.prefix,
	} {
		t.Run(name, check)
	}
}

const (
	secret  = "sk-canary-0123456789"
	allText = "half, and whole"
)

func hello() *llmclient.Request {
	return &llmclient.Request{Messages: messages.History{messages.UserText("hello")}}
}

// ask asks a client for a stream, or not.
func ask(ctx context.Context, c llmclient.Client, stream bool) (*llmclient.Response, *llmclient.Error) {
	var onDelta func(llmclient.Delta)
	if stream {
		onDelta = func(llmclient.Delta) {}
	}
	resp, err := c.Complete(ctx, hello(), onDelta)
	if err == nil {
		return resp, nil
	}
	e, ok := errors.AsType[*llmclient.Error](err)
	if !ok {
		panic(fmt.Sprintf("an error of type %T", err))
	}
	return resp, e
}

// serve returns a client of a server that answers, and what the server was sent.
func (h HTTP) serve(t *testing.T, s Settings, answer http.HandlerFunc) (llmclient.Client, *Server) {
	t.Helper()
	server := Serve(t, answer)
	s.URL = server.URL
	if s.Key == "" {
		s.Key = secret
	}
	if s.Client == nil {
		s.Client = server.Client()
	}
	if s.Retries == 0 {
		s.Retries = -1
	}
	return h.New(s), server
}

// say writes an answer of a status, at once.
func say(w http.ResponseWriter, status int, body string) {
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	w.(http.Flusher).Flush()
}

// answering is a transport that sends the header of an event stream at once and then has its events
// written. If it is nil, the header is never sent.
type answering func(r *http.Request, w io.Writer)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if a == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, w := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		a(r, w)
		_ = w.CloseWithError(r.Context().Err()) // nil is the end of the answer
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
}

// by returns a client that needs no network, so that its time can be that of package synctest.
func (h HTTP) by(a answering, s Settings) llmclient.Client {
	s.URL, s.Key, s.Client = "http://nowhere.test", secret, &http.Client{Transport: a}
	if s.Retries == 0 {
		s.Retries = -1
	}
	return h.New(s)
}

// holding writes text and then sends nothing until the client closes the connection.
func holding(text string) answering {
	return func(r *http.Request, w io.Writer) {
		_, _ = io.WriteString(w, text)
		<-r.Context().Done()
	}
}
