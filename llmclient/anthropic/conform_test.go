package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/llmclient/llmclienttest"
)

// speak answers the n-th request with the n-th turn, in Anthropic's protocol.
func speak(t *testing.T, script []llmclienttest.Turn) *server {
	var next atomic.Int64
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := int(next.Add(1)) - 1
		if n >= len(script) {
			http.Error(w, "the script is over", http.StatusTeapot)
			return
		}
		turn := script[n]
		if turn.Hang {
			<-r.Context().Done()
			return
		}
		if turn.Err != nil {
			w.WriteHeader(turn.Err.Status)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","message":%q},"request_id":"req_1"}`, turn.Err.Message)
			return
		}
		if body, ok := wholeTurn(turn); ok && r.Header.Get("Accept") != "text/event-stream" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range streamTurn(turn) {
			_, _ = io.WriteString(w, events(e))
			w.(http.Flusher).Flush()
		}
	})
}

var stops = map[llmclient.FinishReason]string{
	llmclient.FinishStop: "end_turn", llmclient.FinishToolCalls: "tool_use", llmclient.FinishLength: "max_tokens", llmclient.FinishRefusal: "refusal",
}

// wholeTurn returns a turn as one message. A call whose arguments are not JSON can only be
// streamed.
func wholeTurn(turn llmclienttest.Turn) (string, bool) {
	var content []string
	if turn.Thought != "" {
		content = append(content, `{"type":"thinking","thinking":`+quote(turn.Thought)+`,"signature":"c2ln"}`)
	}
	if len(turn.Text) > 0 {
		content = append(content, `{"type":"text","text":`+quote(strings.Join(turn.Text, ""))+`}`)
	}
	for _, c := range turn.Calls {
		if !json.Valid([]byte(c.Arguments)) {
			return "", false
		}
		content = append(content, `{"type":"tool_use","id":"`+c.ID+`","name":"`+c.Name+`","input":`+c.Arguments+`}`)
	}
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[%s],"stop_reason":%q,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
		strings.Join(content, ","), stops[turn.Finish], turn.Usage.Input, turn.Usage.Output), true
}

func streamTurn(turn llmclienttest.Turn) []string {
	list := []string{
		fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m1","usage":{"input_tokens":%d,"output_tokens":0}}}`, turn.Usage.Input),
		ping,
	}
	n := 0
	index := func() string { n++; return strconv.Itoa(n - 1) }
	if turn.Thought != "" {
		list = append(list, blockOf(index(), `{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":`+quote(turn.Thought)+`}`, `{"type":"signature_delta","signature":"c2ln"}`)...)
	}
	if len(turn.Text) > 0 {
		list = append(list, textBlock(index(), turn.Text...)...)
	}
	for _, c := range turn.Calls {
		half := len(c.Arguments) / 2
		list = append(list, callBlock(index(), c.ID, c.Name, "", c.Arguments[:half], c.Arguments[half:])...)
	}
	return append(list, fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":%d}}`, stops[turn.Finish], turn.Usage.Output), messageStop)
}

func TestConformance(t *testing.T) {
	for name, retries := range map[string]int{"alone": -1, "with retries": 2} {
		t.Run(name, func(t *testing.T) {
			llmclienttest.Run(t, llmclienttest.Config{New: func(t *testing.T, script []llmclienttest.Turn) llmclient.Client {
				return newClient(t, speak(t, script), func(cfg *anthropic.Config) { cfg.MaxRetries = retries })
			}})
		})
	}
}

// provider is what the tests of all clients over HTTP need to know of this one.
func provider() llmclienttest.HTTP {
	const thought, hidden = `{"type":"thinking","thinking":"let me see","signature":"c1"}`, `{"type":"redacted_thinking","data":"EmwK"}`
	said := stream("end_turn", textBlock("0", "half", ", and whole"))
	return llmclienttest.HTTP{
		New: func(s llmclienttest.Settings) llmclient.Client {
			return anthropic.MustNew(anthropic.Config{
				Model: "m1", APIKey: s.Key, BaseURL: s.URL, NoEnvironment: true, HTTPClient: s.Client,
				MaxRetries: s.Retries, IdleTimeout: s.Idle, MaxResponse: s.MaxResponse,
				Options: []option.RequestOption{option.WithHeader("X-Gateway", s.Header), option.WithQuery("key", s.Query)},
			})
		},
		Whole: whole(`{"type":"text","text":"half, and whole"}`, "end_turn"), Half: events(said[:4]...), Rest: events(said[4:]...),
		Refusal: `{"type":"error","error":{"type":"invalid_request_error","message":"tools.1.custom.input_schema: JSON schema is invalid."}}`,
		Replies: []string{
			long("tool_use"), long("max_tokens"),
			whole(`{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}`, "tool_use"),
		},
		Step: prove.DepthOr(3, 1),
		Turns: []string{
			whole(thought+`,{"type":"tool_use","id":"a","name":"f","input":{"x": [1, 2]}}`, "tool_use"),
			whole(thought+`,{"type":"text","text":"so"},{"type":"tool_use","id":"b","name":"f","input":{}},{"type":"tool_use","id":"c","name":"g","input":{}}`, "tool_use"),
			whole(hidden+`,{"type":"tool_use","id":"d","name":"f","input":{}}`, "tool_use"),
			whole(`{"type":"text","text":" "}`, "end_turn"),
			whole(thought+`,{"type":"text","text":"an ans"}`, "max_tokens"),
			whole(`{"type":"text","text":"the end"}`, "end_turn"),
		},
		Body: []string{"messages", "system", "tools"},
	}
}

// long is a stream with a block of each kind.
func long(stop string) string {
	return events(stream(stop,
		blockOf("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Hm, \"ö\"."}`, `{"type":"signature_delta","signature":"EqQB"}`),
		blockOf("1", `{"type":"redacted_thinking","data":"EmwK"}`),
		blockOf("2", `{"type":"text","text":""}`, `{"type":"text_delta","text":"I look. "}`, `{"type":"citations_delta","citation":{"type":"x","cited_text":"c","url":"u"}}`, `{"type":"text_delta","text":"Then {\"type\":\"message_stop\"}."}`),
		callBlock("3", "toolu_1", "weather", `{"city`, `":"Bern"}`),
		blockOf("4", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"q\":1}"}`),
		callBlock("5", "toolu_2", "time", `{"zone":`, `{}}`))...)
}

func TestHTTP(t *testing.T) { provider().Run(t) }
