package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is the key of the tests.
const canary = "sk-ant-canary-0123456789"

type server = llmclienttest.Server

var (
	serve = llmclienttest.Serve
	say   = llmclienttest.Say
)

func sayJSON(t testing.TB, body string) *server { return say(t, 200, "application/json", body) }
func sayEvents(t testing.TB, data ...string) *server {
	return say(t, 200, "text/event-stream", events(data...))
}

// events returns a stream of events, each with the name that its type says.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var v struct{ Type string }
		_ = json.Unmarshal([]byte(d), &v)
		b.WriteString("event: " + v.Type + "\ndata: " + d + "\n\n")
	}
	return b.String()
}

// whole is a whole message.
func whole(content, stop string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[` + content + `],"stop_reason":"` + stop +
		`","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}`
}

const (
	messageStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m1","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`
	messageStop  = `{"type":"message_stop"}`
	ping         = `{"type": "ping"}`
)

func messageDelta(stop string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + stop + `","stop_sequence":null},"usage":{"output_tokens":5}}`
}

// blockOf returns the events of one block, which begins as start says.
func blockOf(index string, start string, deltas ...string) []string {
	list := []string{`{"type":"content_block_start","index":` + index + `,"content_block":` + start + `}`}
	for _, d := range deltas {
		list = append(list, `{"type":"content_block_delta","index":`+index+`,"delta":`+d+`}`)
	}
	return append(list, `{"type":"content_block_stop","index":`+index+`}`)
}

// stream returns the events of a message with these blocks.
func stream(stop string, blocks ...[]string) []string {
	list := []string{messageStart, ping}
	for _, b := range blocks {
		list = append(list, b...)
	}
	return append(list, messageDelta(stop), messageStop)
}

func textBlock(index string, pieces ...string) []string {
	deltas := make([]string, len(pieces))
	for i, p := range pieces {
		deltas[i] = `{"type":"text_delta","text":` + quote(p) + `}`
	}
	return blockOf(index, `{"type":"text","text":""}`, deltas...)
}

func callBlock(index, id, name string, pieces ...string) []string {
	deltas := make([]string, len(pieces))
	for i, p := range pieces {
		deltas[i] = `{"type":"input_json_delta","partial_json":` + quote(p) + `}`
	}
	return blockOf(index, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`, deltas...)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func newClient(t testing.TB, s *server, change ...func(*anthropic.Config)) *anthropic.Client {
	t.Helper()
	cfg := anthropic.Config{Model: "m1", APIKey: canary, BaseURL: s.URL, NoEnvironment: true, MaxRetries: -1, HTTPClient: s.Client()}
	for _, c := range change {
		c(&cfg)
	}
	c, err := anthropic.New(cfg)
	require.NoError(t, err)
	return c
}

func hello() *llmclient.Request {
	return &llmclient.Request{Messages: messages.History{messages.UserText("hello")}}
}

// ask asks for a stream, and askWhole for a whole reply.
func ask(t testing.TB, s *server, change ...func(*anthropic.Config)) (*llmclient.Response, *llmclient.Error) {
	t.Helper()
	return llmclienttest.Ask(t, newClient(t, s, change...), true)
}

func askWhole(t testing.TB, s *server, change ...func(*anthropic.Config)) (*llmclient.Response, *llmclient.Error) {
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

func call(id, name, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: id, Name: name, Arguments: arguments}
}
