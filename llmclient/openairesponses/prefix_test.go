package openairesponses_test

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

// sentBody is what a provider has of a request before it reads something new, byte for byte.
type sentBody struct {
	Input json.RawMessage `json:"input"`
	Tools json.RawMessage `json:"tools"`
}

// begins reports whether a body begins with an earlier one.
func (b *sentBody) begins(earlier *sentBody) bool {
	rest, ok := strings.CutPrefix(string(b.Input), strings.TrimSuffix(string(earlier.Input), "]"))
	return ok && (rest[0] == ',' || rest[0] == ']') && string(b.Tools) == string(earlier.Tools)
}

// A request that goes on with a conversation begins with the last one, byte for byte, whatever the
// model has said.
func TestPrefix(t *testing.T) {
	replies := []speech{
		{items: []part{thought("1", "let me ", "see"), toolCall("a", "f", `{"x": [1, 2]}`)}},
		{items: []part{thought("2"), text("so"), toolCall("b", "f", "{}"), toolCall("c", "g", `{"cut`)}},
		{items: []part{toolCall("d", "f", ""), thought("3")}},
		{items: []part{text("")}},
		{items: []part{thought("4"), text("an ans")}, status: "incomplete", reason: "max_output_tokens"},
		{items: []part{text("the end")}},
	}
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, replies[asked].whole()) })
	client, req, last := newClient(t, s), hello(), &sentBody{}
	req.Messages = append(messages.History{messages.System{Text: "Be brief."}}, req.Messages...)
	for _, name := range []string{"f", "g"} {
		req.Tools = append(req.Tools, tools.Definition{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	for asked = range replies {
		resp, err := client.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		sent, _ := s.sent()
		now := new(sentBody)
		require.NoError(t, json.Unmarshal([]byte(sent), now))
		require.True(t, asked == 0 || now.begins(last), "after\n%s\nit sends\n%s", last.Input, sent)
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
