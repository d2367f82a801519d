package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
)

// S3-15: every strategy sends the model a history that obeys the laws, whatever its input was, and
// lists the repairs in its metadata.
func TestS3_15_everyStrategyMendsItsInput(t *testing.T) {
	given := messages.History{
		messages.UserText("look"),
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "open", Name: "look", Arguments: "{}"}}},
		messages.UserText("well?"),
	}
	require.Error(t, given.Validate())
	asked := 0
	for name, factory := range builtin.All() {
		t.Run(name, func(t *testing.T) {
			s := factory()
			if u, ok := s.(strategy.ToolUser); ok {
				u.UseTools(nil)
			}
			request, ok := s.Initialize(delegation.Input{Goal: "go on", Messages: given}).(nextstep.GetChatCompletion)
			if !ok {
				return // it delegates first: its child asks the model
			}
			asked++
			require.NoError(t, request.Request.Messages.Validate())
			require.Contains(t, s.(strategy.Concluder).Conclude("stop").Metadata, "repaired")
		})
	}
	require.GreaterOrEqual(t, asked, 5)
}
