package openaichat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
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

func callBody(round int) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1771459544,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"add","arguments":"{\"a\":%d,\"b\":1}"}}],"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":"fp_a1b2c3d4e5"}`, round, round)
}

const doneBody = `{"id":"chatcmpl-1","object":"chat.completion","created":1771459544,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"message":{"role":"assistant","content":"done","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99}}`

// roundServer answers with a call until the conversation holds ten.
func roundServer(tb testing.TB) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		round := strings.Count(string(body), `"tool_call_id"`)
		w.Header().Set("Content-Type", "application/json")
		if round == rounds {
			_, _ = io.WriteString(w, doneBody)
			return
		}
		_, _ = io.WriteString(w, callBody(round))
	}))
	tb.Cleanup(srv.Close)
	return srv
}

func streamServer(tb testing.TB) *httptest.Server {
	body := streamBody(deltas)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	tb.Cleanup(srv.Close)
	return srv
}

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

// BenchmarkDecodeStream reads a stream of 2,000 deltas from memory.
func BenchmarkDecodeStream(b *testing.B) {
	client := benchClient(b, "http://server.test/v1", canned{"text/event-stream", streamBody(deltas)})
	req := &llmclient.Request{Messages: messages.History{messages.UserText("hi")}}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		resp, err := client.Complete(context.Background(), req, func(llmclient.Delta) { n++ })
		if err != nil || n != deltas || len(resp.Message.Text()) != 5*deltas {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
}

// BenchmarkEncode sends a conversation of 1,000 rounds and reads a short answer, from memory.
func BenchmarkEncode(b *testing.B) {
	client := benchClient(b, "http://server.test/v1", canned{"application/json", doneBody})
	req := &llmclient.Request{Messages: messages.History{messages.UserText("add")}, Tools: []tools.Definition{addTool()}}
	for round := range 1000 {
		id := fmt.Sprintf("call_%d", round)
		req.Messages = append(req.Messages,
			messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: id, Name: "add", Arguments: `{"a":1,"b":2}`}}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "add", Output: "3"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Complete(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(req.Messages)), "ns/message")
}

func BenchmarkSteps(b *testing.B) {
	srv := roundServer(b)
	b.Run("openaichat", func(b *testing.B) {
		client := benchClient(b, srv.URL, srv.Client().Transport)
		b.ReportAllocs()
		for b.Loop() {
			if err := ourRounds(client); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("openai-go", func(b *testing.B) {
		client := openai.NewClient(option.WithBaseURL(srv.URL), option.WithAPIKey("key"), option.WithMaxRetries(0), option.WithHTTPClient(srv.Client()))
		b.ReportAllocs()
		for b.Loop() {
			if err := theirRounds(&client); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ourRounds(client *openaichat.Client) error {
	req := &llmclient.Request{Messages: messages.History{messages.System{Text: "You add."}, messages.UserText("add")}, Tools: []tools.Definition{addTool()}}
	for {
		resp, err := client.Complete(context.Background(), req, nil)
		if err != nil {
			return err
		}
		req.Messages = append(req.Messages, resp.Message)
		calls := resp.Message.Calls()
		if len(calls) == 0 {
			return check(resp.Message.Text(), len(req.Messages))
		}
		for _, call := range calls {
			var in struct{ A, B int }
			if err := call.Decode(&in); err != nil {
				return err
			}
			req.Messages = append(req.Messages, messages.Tool{ToolOutput: messages.ToolOutput{CallID: call.ID, ToolName: call.Name, Output: fmt.Sprint(in.A + in.B)}})
		}
	}
}

func theirRounds(client *openai.Client) error {
	params := openai.ChatCompletionNewParams{
		Model:    "gpt-4o-mini",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You add."), openai.UserMessage("add")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "add", Description: openai.String("Adds two numbers."),
			Parameters: openai.FunctionParameters{
				"type": "object", "required": []string{"a", "b"}, "additionalProperties": false,
				"properties": map[string]any{"a": map[string]any{"type": "integer"}, "b": map[string]any{"type": "integer"}},
			},
		})},
	}
	for {
		resp, err := client.Chat.Completions.New(context.Background(), params)
		if err != nil {
			return err
		}
		msg := resp.Choices[0].Message
		params.Messages = append(params.Messages, msg.ToParam())
		if len(msg.ToolCalls) == 0 {
			return check(msg.Content, len(params.Messages))
		}
		for _, call := range msg.ToolCalls {
			var in struct{ A, B int }
			if err := json.Unmarshal([]byte(call.Function.Arguments), &in); err != nil {
				return err
			}
			params.Messages = append(params.Messages, openai.ToolMessage(fmt.Sprint(in.A+in.B), call.ID))
		}
	}
}

func check(text string, length int) error {
	if text != "done" || length != 3+2*rounds {
		return fmt.Errorf("answer %q after %d messages", text, length)
	}
	return nil
}

func BenchmarkStream(b *testing.B) {
	srv := streamServer(b)
	b.Run("openaichat", func(b *testing.B) {
		client := benchClient(b, srv.URL, srv.Client().Transport)
		req := &llmclient.Request{Messages: messages.History{messages.UserText("hi")}}
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			resp, err := client.Complete(context.Background(), req, func(d llmclient.Delta) { n += len(d.Text) })
			if err != nil || n != 5*deltas || len(resp.Message.Text()) != n {
				b.Fatal(n, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
	})
	b.Run("openai-go", func(b *testing.B) {
		client := openai.NewClient(option.WithBaseURL(srv.URL), option.WithAPIKey("key"), option.WithMaxRetries(0), option.WithHTTPClient(srv.Client()))
		b.ReportAllocs()
		for b.Loop() {
			stream := client.Chat.Completions.NewStreaming(context.Background(), openai.ChatCompletionNewParams{
				Model: "gpt-4o-mini", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
				StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
			})
			var acc openai.ChatCompletionAccumulator
			n := 0
			for stream.Next() {
				chunk := stream.Current()
				acc.AddChunk(chunk)
				if len(chunk.Choices) > 0 {
					n += len(chunk.Choices[0].Delta.Content)
				}
			}
			if stream.Err() != nil || n != 5*deltas || len(acc.Choices[0].Message.Content) != n {
				b.Fatal(n, stream.Err())
			}
			_ = stream.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
	})
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
