package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
)

// Gateways send errors without the name of the event, and with fields beside or instead of "error".
func TestErrorEventWithoutNameKeepsAllItSays(t *testing.T) {
	for last, want := range map[string]llmclient.Code{
		`{"type":"error","message":"slow down","code":429}`:                  llmclient.CodeRateLimited,
		`{"type":"error","error":{"message":"slow down"},"status_code":429}`: llmclient.CodeRateLimited,
		`{"error":"slow down","status":"529"}`:                               llmclient.CodeUnavailable,
	} {
		s := say(t, 200, "text/event-stream", "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\ndata: "+last+"\n\n")
		_, err := ask(t, s, func(c *anthropic.Config) { c.MaxRetries = -1 })
		require.NotNil(t, err)
		require.Equal(t, want, err.Code, last)
		require.Equal(t, "slow down", err.Message, last)
	}
}
