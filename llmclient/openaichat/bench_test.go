package openaichat_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

const (
	deltas = 2000
	rounds = 10
)

// streamBody is a stream of short deltas in OpenAI's format.
func streamBody(n int) string {
	const head = `data: {"id":"chatcmpl-DKw2bY1sTGqVk8Z1u7Q4","object":"chat.completion.chunk","created":1771459544,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_a1b2c3d4e5","choices":[{"index":0,"delta":`
	var b strings.Builder
	b.WriteString(head + `{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n")
	for range n {
		b.WriteString(head + `{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n")
	}
	b.WriteString(head + `{},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\n")
	b.WriteString(`data: {"id":"chatcmpl-DKw2bY1sTGqVk8Z1u7Q4","object":"chat.completion.chunk","created":1771459544,"model":"gpt-4o-mini-2024-07-18","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2000,"total_tokens":2010}}` + "\n\ndata: [DONE]\n\n")
	return b.String()
}

// addTool is the tool of one round; callBody and doneBody are the model's answers.
func addTool() tools.Definition {
	return tools.Definition{
		Name: "add", Description: "Adds two numbers.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`),
	}
}

const doneBody = `{"id":"chatcmpl-1","object":"chat.completion","created":1771459544,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":"done","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99}}`

// canned answers every request with the same body, without a network.
type canned struct{ contentType, body string }

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	_ = req.Body.Close()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {c.contentType}},
		Body: io.NopCloser(strings.NewReader(c.body)), Request: req,
	}, nil
}

func benchClient(tb testing.TB, url string, transport http.RoundTripper) *openaichat.Client {
	client, err := openaichat.New(openaichat.Config{
		Model: "gpt-4o-mini", APIKey: "key", BaseURL: url, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
	})
	require.NoError(tb, err)
	return client
}

// TestAllocations checks the stable part of the measurements: the allocations per delta and per
// message.
func TestAllocations(t *testing.T) {
	streamed := benchClient(t, "http://server.test/v1", canned{"text/event-stream", streamBody(deltas)})
	req := &llmclient.Request{Messages: messages.History{messages.UserText("hi")}}
	perStream := testing.AllocsPerRun(5, func() {
		_, err := streamed.Complete(context.Background(), req, func(llmclient.Delta) {})
		require.NoError(t, err)
	})
	require.Less(t, perStream/deltas, 0.2, "allocations per delta")

	client := benchClient(t, "http://server.test/v1", canned{"application/json", doneBody})
	ask := func() {
		_, err := client.Complete(context.Background(), req, nil)
		require.NoError(t, err)
	}
	short := testing.AllocsPerRun(5, ask)
	for range 1000 {
		req.Messages = append(req.Messages, messages.AssistantText("a"), messages.UserText("b"))
	}
	require.InDelta(t, short, testing.AllocsPerRun(5, ask), 20, "the length of the history does not count")
}
