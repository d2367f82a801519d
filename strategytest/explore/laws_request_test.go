package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
)

// The Machine does not pass such a request on, and fails the frame. It is the strategy's mistake.
func TestRun_invalidRequest(t *testing.T) {
	r, err := explore.Run(func() strategy.Strategy {
		return &talker{change: func(r *llmclient.Request, turn int) {
			if turn == 2 {
				r.Messages = append(r.Messages, messages.Assistant{})
			}
		}}
	}, explore.Options{Depth: 1})
	require.NoError(t, err)
	require.Len(t, r.Violations, 1)
	require.Equal(t, "a request is a valid conversation, with each call answered once", r.Violations[0].Law)
	require.Contains(t, r.Violations[0].Problem, "the assistant message is empty")
	require.Equal(t, []string{"#1 text"}, r.Violations[0].Path)
}
