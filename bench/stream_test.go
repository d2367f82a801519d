package bench_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

const deltas = 2000

// telling returns a conversation of one reply, and the pieces of the reply.
func telling(pieces int) (*script, []string) {
	all := make([]string, pieces)
	for i := range all {
		all[i] = fmt.Sprintf("%03d ", i%1000)
	}
	return &script{goal: "Count.", replies: []reply{{text: strings.Join(all, "")}}}, all
}

// streamingModel streams a reply to the loop.
func (s *script) streamingModel(pieces []string) model {
	reply := s.messages()[0]
	return func(ctx context.Context, _ []message, onDelta func(string)) (message, error) {
		for _, p := range pieces {
			onDelta(p)
		}
		return reply, ctx.Err()
	}
}

// streamingClient streams a reply to the library.
func (s *script) streamingClient(pieces []string) llmclient.ClientFunc {
	resp := &llmclient.Response{Message: messages.AssistantText(s.answer()), Finish: llmclient.FinishStop}
	return func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		for _, p := range pieces {
			onDelta(llmclient.Delta{Kind: llmclient.DeltaText, Text: p})
		}
		return resp, ctx.Err()
	}
}
