package frame_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/strategy/internal/frame"
)

func TestMetadata(t *testing.T) {
	var m delegation.Metadata
	frame.SetList(&m, "none", []string{})
	for _, why := range []llmclient.FinishReason{"", llmclient.FinishStop, llmclient.FinishToolCalls} {
		(&frame.Conversation{Finish: why}).Describe(&m)
	}
	require.Empty(t, m)
	frame.SetList(&m, "some", []int{1, 2})
	(&frame.Conversation{Finish: llmclient.FinishLength}).Describe(&m)
	require.Equal(t, delegation.Metadata{"some": []byte("[1,2]"), "finish": []byte(`"length"`)}, m)
}
