package policyclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// sentBody is a request as a server gets it.
type sentBody struct {
	Messages []struct{ Role, Content string }
	Tools    json.RawMessage
}

// overHTTP runs a strategy through a text format, against a server that gives these replies one
// after the other; "" stands for a refusal because the request is too long. It returns the text of
// the answer and the requests.
func overHTTP(t *testing.T, cfg completetask.Config, replies ...string) (string, []sentBody) {
	t.Helper()
	var mu sync.Mutex
	var bodies []sentBody
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var body sentBody
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(bodies) == len(replies) {
			http.Error(w, "unexpected", http.StatusTeapot)
			return
		}
		reply := replies[len(bodies)]
		bodies = append(bodies, body)
		w.Header().Set("Content-Type", "application/json")
		if reply == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"the prompt is too long","type":"invalid_request_error","code":"context_length_exceeded"}}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, reply)
	}))
	defer server.Close()
	client, err := openaichat.New(openaichat.Config{Model: "m", BaseURL: server.URL + "/v1", HTTPClient: server.Client(), MaxRetries: -1})
	require.NoError(t, err)
	var list []tools.Tool
	for _, name := range []string{"look", "pay", "mail"} {
		def := tools.Definition{Name: name, Description: "Does " + name + ".", ReadOnly: true}
		list = append(list, tools.NewRaw(def, func(context.Context, string) (string, error) { return strings.Repeat("a long result ", 40), nil }))
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: policyclient.Wrap(client, markdownpolicy.Hermes), Tools: list, Strategies: strategy.Set{"it": completetask.New(cfg)},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Look twice."}})
	require.NoError(t, err)
	for _, b := range bodies {
		require.Empty(t, b.Tools, "calls are text")
	}
	return res.Output.Text(), bodies
}

func hermes(name, arguments string) string {
	return fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", name, arguments)
}

// What was found is described in the system prompt from the next request on, and can be called.
func TestHTTP_search(t *testing.T) {
	text, bodies := overHTTP(t, completetask.Config{Search: toolsearch.Config{Above: 1, Results: 1}},
		hermes("search_tools", `{"query":"pay"}`), hermes("pay", "{}"), "Paid.")
	require.Equal(t, "Paid.", text)
	var described []bool
	for _, b := range bodies {
		require.Contains(t, b.Messages[0].Content, "search_tools")
		require.NotContains(t, b.Messages[0].Content, "Does mail.")
		described = append(described, strings.Contains(b.Messages[0].Content, "Does pay."))
	}
	require.Equal(t, []bool{false, true, true}, described)
	require.Contains(t, bodies[2].Messages[len(bodies[2].Messages)-1].Content, "a long result")
}

// A refused request is made again with a summary. The request for that describes no tools, and
// afterwards the tools are described as before, and no call has lost its result.
func TestHTTP_compaction(t *testing.T) {
	text, bodies := overHTTP(t, completetask.Config{Compact: &compaction.Config{Keep: 1, MaxTokens: 20}},
		hermes("look", `{"n":1}`), hermes("look", `{"n":2}`), "", "One was looked at.", "Seen.")
	require.Equal(t, "Seen.", text)
	require.Len(t, bodies, 5)
	for _, m := range bodies[3].Messages {
		require.NotContains(t, m.Content, "<tools>", "the request for a summary describes no tools")
	}
	require.Equal(t, bodies[0].Messages[0], bodies[4].Messages[0], "the tools are described as before")
	var all, roles []string
	for _, m := range bodies[4].Messages {
		all, roles = append(all, m.Content), append(roles, m.Role)
	}
	text = strings.Join(all, "\n")
	require.Contains(t, text, "One was looked at.")
	require.NotContains(t, text, `{"n":1}`)
	require.Contains(t, text, `{"n":2}`)
	require.Equal(t, []string{"system", "user", "user", "assistant", "user"}, roles, "the task, the summary, the last call with its result")
	require.Contains(t, all[4], "a long result")
}
