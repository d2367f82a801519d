package openairesponses_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/llmclienttest"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// speak answers the n-th request with the n-th turn, whole or as a stream, as the request asks.
func speak(script []llmclienttest.Turn) http.HandlerFunc {
	var asked atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		turn := script[asked.Add(1)-1]
		var req struct{ Stream bool }
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &req)
		switch {
		case turn.Hang:
			<-r.Context().Done()
			return
		case turn.Err != nil:
			w.WriteHeader(turn.Err.Status)
			_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`, turn.Err.Message)
			return
		}
		said := speechOf(turn)
		if !req.Stream {
			_, _ = io.WriteString(w, said.whole())
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range said.events() {
			_, _ = io.WriteString(w, stream(data))
			w.(http.Flusher).Flush()
		}
	}
}

func speechOf(turn llmclienttest.Turn) speech {
	var said speech
	if turn.Thought != "" {
		said.items = append(said.items, thought("enc", strings.SplitAfter(turn.Thought, " ")...))
	}
	if len(turn.Text) > 0 {
		said.items = append(said.items, text(turn.Text...))
	}
	for _, c := range turn.Calls {
		said.items = append(said.items, toolCall(c.ID, c.Name, strings.SplitAfter(c.Arguments, ",")...))
	}
	if u := turn.Usage; u != (messages.Usage{}) {
		said.usage = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			u.Input, u.Cached, u.Output, u.Reasoning, u.Total)
	}
	return said
}

// request is the default one without stop sequences, which the API does not take.
func request() *llmclient.Request {
	return &llmclient.Request{
		Messages: messages.History{messages.System{Text: "Be brief."}, messages.UserText("Hello!")},
		Tools: []tools.Definition{{
			Name: "add", Description: "Adds two numbers.",
			Parameters: []byte(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		}},
	}
}

func TestConformance(t *testing.T) {
	llmclienttest.Run(t, llmclienttest.Config{
		New: func(t *testing.T, script []llmclienttest.Turn) llmclient.Client {
			s := serve(t, func(http.ResponseWriter, *http.Request) {})
			s.Config.Handler = speak(script)
			return newClient(t, s)
		},
		Request: request,
	})
}

// provider is what the tests of all clients over HTTP need to know of this one.
func provider() llmclienttest.HTTP {
	said := speech{items: []part{text("half", ", and whole")}}
	all := said.events()
	return llmclienttest.HTTP{
		New: func(s llmclienttest.Settings) llmclient.Client {
			return openairesponses.MustNew(openairesponses.Config{
				Model: "test-model", APIKey: s.Key, BaseURL: s.URL + "/v1", NoEnvironment: true, HTTPClient: s.Client,
				MaxRetries: s.Retries, IdleTimeout: s.Idle, MaxResponse: s.MaxResponse,
				Options: []option.RequestOption{option.WithHeader("X-Gateway", s.Header), option.WithQuery("key", s.Query)},
			})
		},
		Whole: said.whole(), Half: stream(all[:5]...), Rest: stream(all[5:]...),
		Refusal: `{"error":{"message":"Invalid schema for function 'odd': 'nothing' is not a type.","type":"invalid_request_error","param":"tools[1].parameters","code":"invalid_function_parameters"}}`,
		Replies: []string{stream(everything().events()...), everything().whole()}, Step: prove.DepthOr(7, 1),
		Turns: []string{
			speech{items: []part{thought("1", "let me ", "see"), toolCall("a", "f", `{"x": [1, 2]}`)}}.whole(),
			speech{items: []part{thought("2"), text("so"), toolCall("b", "f", "{}"), toolCall("c", "g", `{"cut`)}}.whole(),
			speech{items: []part{toolCall("d", "f", ""), thought("3")}}.whole(),
			speech{items: []part{text("")}}.whole(),
			speech{items: []part{thought("4"), text("an ans")}, status: "incomplete", reason: "max_output_tokens"}.whole(),
			speech{items: []part{text("the end")}}.whole(),
		},
		Body: []string{"input", "tools"},
	}
}

// everything is a reply with everything in it.
func everything() speech {
	return speech{
		items: []part{
			thought("enc1", "I look ", "at both."), text("Both ", "at once: ä."), toolCall("a", "f", `{"x"`, `:1}`),
			{kind: "web_search_call", id: "ws_1", rest: `,"status":"completed","action":{"type":"search","query":"q"}`},
			thought("enc2"), toolCall("b", "g", `{"y":12}`),
		},
		usage: `{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":7}`,
	}
}

func TestHTTP(t *testing.T) { provider().Run(t) }
