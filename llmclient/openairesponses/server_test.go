package openairesponses_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type server = llmclienttest.Server

var (
	serve = llmclienttest.Serve
	say   = llmclienttest.Say
)

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

// ask asks for a stream, and askWhole for a whole reply.
func ask(t testing.TB, s *server, change ...func(*openairesponses.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	return llmclienttest.Ask(t, newClient(t, s, change...), true)
}

func askWhole(t testing.TB, s *server, change ...func(*openairesponses.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	return llmclienttest.Ask(t, newClient(t, s, change...), false)
}

func must(t testing.TB, resp *llmclient.Response, err *llmclient.Error) *llmclient.Response {
	t.Helper()
	require.Nil(t, err)
	return resp
}

func call(id, name, args string) messages.ToolCall {
	return messages.ToolCall{ID: id, Name: name, Arguments: args}
}

// nowhere is a server that is never asked.
func nowhere() *server { return &server{Server: &httptest.Server{URL: "http://nowhere.test"}} }

// half are the first events of a reply, up to its first piece of text.
func half() []string { return speech{items: []part{text("half", "whole")}}.events()[:5] }
