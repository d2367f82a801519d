package openaichat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
)

// Mistral answers "Unexpected role 'user' after role 'tool'", and takes only its own form of ids,
// which a conversation with another provider does not have.
func TestEncode_orderAndIDsOfMistral(t *testing.T) {
	h := []messages.Message{
		messages.UserText("a"),
		messages.Assistant{Content: []messages.AssistantContent{call("call_1", "f", "{}"), call("a1B2c3D4e", "f", "{}")}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "call_1", Output: "x"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a1B2c3D4e", Output: "y"}},
		messages.UserText("b"),
	}
	const id = "74196fe72"
	require.Equal(t, `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[`+
		`{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"a1B2c3D4e","type":"function","function":{"name":"f","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"`+id+`","content":"x"},{"role":"tool","tool_call_id":"a1B2c3D4e","content":"y"},`+
		`{"role":"assistant","content":"OK."},{"role":"user","content":"b"}]}`, encode(t, "api.mistral.ai", config{}, one(h...)))
	require.NotContains(t, encode(t, "x", config{}, one(h...)), "OK.")
}

// OpenAI takes ids of at most 40 bytes, which a conversation with another server may not have. Each
// is the same in call and result, and in every request.
func TestEncode_longIDsForOpenAI(t *testing.T) {
	long := "chatcmpl-tool-" + strings.Repeat("0123456789abcdef", 2)
	fits := strings.Repeat("f", 40)
	wide := strings.Repeat("é", 21) // 42 bytes
	sent := func(host string, ids ...string) (calls, results []string) {
		h := []messages.Message{messages.UserText("a")}
		for _, id := range ids {
			h = append(h, messages.Assistant{Content: []messages.AssistantContent{call(id, "f", "{}")}}, messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, Output: "x"}})
		}
		var body struct {
			Messages []struct {
				ToolCallID string                `json:"tool_call_id"`
				ToolCalls  []struct{ ID string } `json:"tool_calls"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(encode(t, host, config{}, one(h...))), &body))
		for _, m := range body.Messages[1:] {
			if m.ToolCallID != "" {
				results = append(results, m.ToolCallID)
				continue
			}
			calls = append(calls, m.ToolCalls[0].ID)
		}
		return calls, results
	}
	for _, host := range []string{"api.openai.com", "eu.api.openai.com", "my.openai.azure.com"} {
		calls, results := sent(host, long, long+"0", fits, fits+"f", wide)
		require.Equal(t, calls, results)
		require.Equal(t, fits, calls[2])
		seen := map[string]bool{}
		for _, id := range calls {
			require.LessOrEqual(t, len(id), 40)
			require.False(t, seen[id], "different ids stay different")
			seen[id] = true
		}
		again, _ := sent(host, long)
		require.Equal(t, calls[:1], again)
	}
	calls, results := sent("x", long, wide)
	require.Equal(t, []string{long, wide}, calls, "others may take any")
	require.Equal(t, calls, results)
}
