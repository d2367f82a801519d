package openaichat_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type server = llmclienttest.Server

var (
	serve = llmclienttest.Serve
	say   = llmclienttest.Say
)

func sayJSON(t testing.TB, body string) *server { return say(t, 200, "application/json", body) }

// sayEvents answers with an event stream: each text is the data of one event, and [DONE] is added.
func sayEvents(t testing.TB, data ...string) *server {
	return say(t, 200, "text/event-stream", events(append(data, "[DONE]")...))
}

func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// chunk is the data of one event: a delta, and other fields of the choice.
func chunk(delta string, beside ...string) string {
	return `{"id":"c1","model":"m1","choices":[{"index":0,"delta":{` + delta + `}` + strings.Join(append([]string{""}, beside...), ",") + `}]}`
}

func whole(message, finish string) string {
	return `{"id":"c1","model":"m1","choices":[{"index":0,"message":{"role":"assistant",` + message + `},"finish_reason":` + finish + `}]}`
}

func newClient(t testing.TB, s *server, change ...func(*openaichat.Config)) *openaichat.Client {
	cfg := openaichat.Config{Model: "test-model", APIKey: "sk-canary-0123456789", BaseURL: s.URL + "/v1", HTTPClient: s.Client(), MaxRetries: -1}
	for _, f := range change {
		f(&cfg)
	}
	client, err := openaichat.New(cfg)
	require.NoError(t, err)
	return client
}

func hello() *llmclient.Request {
	return &llmclient.Request{Messages: messages.History{messages.UserText("hello")}}
}

// ask asks for a stream, and askWhole for a whole reply.
func ask(t testing.TB, s *server, change ...func(*openaichat.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	return llmclienttest.Ask(t, newClient(t, s, change...), true)
}

func askWhole(t testing.TB, s *server, change ...func(*openaichat.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	return llmclienttest.Ask(t, newClient(t, s, change...), false)
}

func must(t testing.TB, resp *llmclient.Response, err *llmclient.Error) *llmclient.Response {
	t.Helper()
	require.Nil(t, err)
	return resp
}

func asError(t testing.TB, err error) (e *llmclient.Error) {
	t.Helper()
	require.ErrorAs(t, err, &e)
	return e
}

func call(id, name, args string) messages.ToolCall {
	return messages.ToolCall{ID: id, Name: name, Arguments: args}
}
