package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// sentBody is what the provider has of a request before it reads something new, byte for byte.
type sentBody struct {
	Messages json.RawMessage `json:"messages"`
	System   json.RawMessage `json:"system"`
	Tools    json.RawMessage `json:"tools"`
}

// begins reports whether a body begins with an earlier one.
func (b *sentBody) begins(earlier *sentBody) bool {
	rest, ok := strings.CutPrefix(string(b.Messages), strings.TrimSuffix(string(earlier.Messages), "]"))
	return ok && (rest[0] == ',' || rest[0] == ']') && string(b.System) == string(earlier.System) && string(b.Tools) == string(earlier.Tools)
}

// A request that goes on with a conversation begins with the last one, byte for byte, whatever the
// model has said: so the provider's cache has it.
func TestPrefix(t *testing.T) {
	const thought, hidden = `{"type":"thinking","thinking":"let me see","signature":"c1"}`, `{"type":"redacted_thinking","data":"EmwK"}`
	replies := []string{
		whole(thought+`,{"type":"tool_use","id":"a","name":"f","input":{"x": [1, 2]}}`, "tool_use"),
		whole(thought+`,{"type":"text","text":"so"},{"type":"tool_use","id":"b","name":"f","input":{}},{"type":"tool_use","id":"c","name":"g","input":{}}`, "tool_use"),
		whole(hidden+`,{"type":"tool_use","id":"d","name":"f","input":{}}`, "tool_use"),
		whole(`{"type":"text","text":" "}`, "end_turn"),
		whole(thought+`,{"type":"text","text":"an ans"}`, "max_tokens"),
		whole(`{"type":"text","text":"the end"}`, "end_turn"),
	}
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, replies[asked]) })
	client, req, last := newClient(t, s), hello(), &sentBody{}
	req.Messages = append(messages.History{messages.System{Text: "Be brief."}}, req.Messages...)
	for _, name := range []string{"f", "g"} {
		req.Tools = append(req.Tools, tools.Definition{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	for asked = range replies {
		resp, err := client.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		text, _ := s.sent()
		now := new(sentBody)
		require.NoError(t, json.Unmarshal([]byte(text), now))
		require.True(t, asked == 0 || now.begins(last), "after\n%s\nit sends\n%s", last.Messages, text)
		last = now
		req.Messages = append(req.Messages, resp.Message)
		for _, c := range resp.Message.Calls() {
			req.Messages = append(req.Messages, messages.Tool{ToolOutput: messages.ToolOutput{CallID: c.ID, ToolName: c.Name, Output: "seen", Untrusted: c.Name == "g"}})
		}
		if len(resp.Message.Calls()) == 0 {
			req.Messages = append(req.Messages, messages.UserText("go on"))
		}
	}
}
