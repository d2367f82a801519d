package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
)

// Anthropic itself returns each call as such; other servers of its API may not.
func TestCallsNatively(t *testing.T) {
	for base, want := range map[string]bool{"": true, "https://api.anthropic.com/v1": true, "http://127.0.0.1:8080": false, "https://anthropic.com.example": false} {
		client := anthropic.MustNew(anthropic.Config{Model: "m", APIKey: "k", BaseURL: base, NoEnvironment: true})
		require.Equal(t, want, llmclient.CallsNatively(client, &llmclient.Request{}), base)
	}
}
