package strategytest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// A story fails if a request does not begin with the last one of its frame, also in a brief one.
func TestTrace_prefix(t *testing.T) {
	tr := newTrace(newPlaces())
	tr.brief = true
	ask := tr.around(func(context.Context, machine.Effect) (nextstep.Answer, error) {
		return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("so")}}, nil
	})
	request := func(frame string, anew *string, texts ...string) {
		var h messages.History
		for _, text := range texts {
			h = append(h, messages.UserText(text))
		}
		step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: h}, Anew: anew}
		_, err := ask(t.Context(), machine.Effect{Frame: frame, Kind: machine.EffectModel, Step: step})
		require.NoError(t, err)
	}
	request("0", nil, "one")
	request("0.1", nil, "another frame")
	request("0", nil, "one", "two")
	request("0", new("the conversation was cut"), "two")
	request("0", nil, "two", "three")
	require.Empty(t, tr.departed)
	request("0", nil, "three")
	require.Len(t, tr.departed, 1)
	require.Contains(t, tr.departed[0], "of frame 0 does not begin with the last one")
}
