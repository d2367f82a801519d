package openairesponses_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

const answered = `{"id":"r","status":"completed","model":"m","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`

// refusing answers 400 to bodies that have the word, and counts all requests.
func refusing(t *testing.T, word, failure string, asked *int) *server {
	var s *server
	s = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		body, _ := s.Sent()
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(body, word) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":`+failure+`}`)
			return
		}
		_, _ = io.WriteString(w, answered)
	})
	return s
}

func reasoned() *llmclient.Request {
	thought := messages.Thought{Extras: messages.Extras{"openai_reasoning": json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`)}}
	return &llmclient.Request{Messages: messages.History{messages.UserText("a"), messages.Assistant{Content: []messages.AssistantContent{thought, messages.Text{Text: "b"}}}, messages.UserText("c")}}
}

// gpt-4o and gpt-4.1 answer 400 to the include that reasoning models need.
func TestModelsThatDoNotReason(t *testing.T) {
	asked := 0
	s := refusing(t, "encrypted_content", `{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}`, &asked)
	client := newClient(t, s)
	for i := range 3 {
		resp, err := client.Complete(t.Context(), reasoned(), nil)
		require.NoError(t, err)
		require.Equal(t, "ok", resp.Message.Text())
		require.Equal(t, i+2, asked, "only the first request is made twice")
	}
	body, _ := s.Sent()
	require.NotContains(t, body, "include")
	req := reasoned()
	req.Extras = messages.Extras{"include": json.RawMessage(`["web_search_call.action.sources","reasoning.encrypted_content"]`)}
	_, err := client.Complete(t.Context(), req, nil)
	require.NoError(t, err)
	body, _ = s.Sent()
	require.Contains(t, body, `"include":["web_search_call.action.sources"]`)
}

// A fallback to another server, or a run that goes on there, has reasoning that it cannot read.
func TestReasoningOfAnotherServer(t *testing.T) {
	asked := 0
	s := refusing(t, `"rs_1"`, `{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}`, &asked)
	_, err := newClient(t, s).Complete(t.Context(), reasoned(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, asked)
	body, _ := s.Sent()
	require.Contains(t, body, `"include":["reasoning.encrypted_content"]`)
	require.NotContains(t, body, `"type":"reasoning"`)

	asked = 0
	client := newClient(t, s)
	resp, err := client.Complete(t.Context(), reasoned(), nil)
	require.NoError(t, err)
	require.Len(t, resp.Attempts, 1, "the request that was refused counts")
	require.Equal(t, llmclient.CodeBadRequest, resp.Attempts[0].Code)
	require.NotEmpty(t, resp.Attempts[0].Model)
	longer := reasoned()
	own := messages.Thought{Extras: messages.Extras{"openai_reasoning": json.RawMessage(`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"mine"}`)}}
	longer.Messages = append(longer.Messages, messages.Assistant{Content: []messages.AssistantContent{own, messages.Text{Text: "d"}}}, messages.UserText("e"))
	resp, err = client.Complete(t.Context(), longer, nil)
	require.NoError(t, err)
	require.Equal(t, 3, asked, "what was refused is remembered")
	require.Empty(t, resp.Attempts)
	body, _ = s.Sent()
	require.Contains(t, body, `"rs_2"`, "reasoning that came since goes back")

	asked = 0
	s = refusing(t, "", `{"message":"no","code":"invalid_encrypted_content"}`, &asked)
	_, err = newClient(t, s).Complete(t.Context(), reasoned(), nil)
	require.Equal(t, llmclient.CodeBadRequest, llmclient.CodeOf(err))
	require.Equal(t, 2, asked)
	var failure *llmclient.Error
	require.ErrorAs(t, err, &failure)
	require.Len(t, failure.Attempts, 1)
}

// The API takes ids of at most 64 bytes, and names of letters, digits, "_" and "-".
func TestInput_callsOfOtherProviders(t *testing.T) {
	asked := 0
	s := refusing(t, "nothing", "", &asked)
	long := strings.Repeat("x", 64)
	_, err := newClient(t, s).Complete(t.Context(), &llmclient.Request{Messages: messages.History{
		messages.UserText("go"),
		messages.Assistant{Content: []messages.AssistantContent{
			messages.ToolCall{ID: long, Name: "list users", Arguments: "{}"}, messages.ToolCall{ID: long + "a", Arguments: "{}"}, messages.ToolCall{ID: long + "b", Name: "f", Arguments: "{}"},
		}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: long, Output: "1"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: long + "a", Output: "2"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: long + "b", Output: "3"}},
	}}, nil)
	require.NoError(t, err)
	var body struct {
		Input []struct {
			ID   string `json:"call_id"`
			Name string
		}
	}
	text, _ := s.Sent()
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	require.Equal(t, []string{"list_users", "_", "f"}, []string{body.Input[1].Name, body.Input[2].Name, body.Input[3].Name})
	require.Equal(t, long, body.Input[1].ID)
	require.NotEqual(t, body.Input[2].ID, body.Input[3].ID)
	for i := 1; i < 4; i++ {
		require.Equal(t, body.Input[i].ID, body.Input[i+3].ID)
		require.LessOrEqual(t, len(body.Input[i].ID), 64)
	}
}
