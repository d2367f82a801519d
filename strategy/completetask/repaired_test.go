package completetask_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// S3-15: messages that break the laws are repaired before the model sees them. The repairs are in
// the metadata, however the run ends, and the caller's messages do not change.
func TestS3_15_inputIsMended(t *testing.T) {
	given := messages.History{
		messages.UserText("look"),
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "open", Name: "look", Arguments: "{}"}}},
		messages.UserText("well?"),
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "nobody's", Output: "lost"}},
	}
	before := given.Clip()
	want, repairs := given.Repair()
	require.Len(t, repairs, 2)
	said := make([]string, len(repairs))
	for i, r := range repairs {
		said[i] = r.String()
	}
	want = append(want, messages.UserText("go on"))

	start := func(t *testing.T) strategy.Strategy {
		s := completetask.New(completetask.Config{})()
		step := s.Initialize(delegation.Input{Goal: "go on", Messages: given})
		request, ok := step.(nextstep.GetChatCompletion)
		require.True(t, ok, "%v", step)
		require.NoError(t, request.Request.Messages.Validate())
		require.Equal(t, want, request.Request.Messages)
		require.Equal(t, before, given)
		return s
	}
	mended := func(t *testing.T, out delegation.Output) {
		var repaired []string
		require.NoError(t, json.Unmarshal(out.Metadata["repaired"], &repaired))
		require.Equal(t, said, repaired)
	}
	t.Run("answered", func(t *testing.T) {
		step := start(t).ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("done")})
		mended(t, step.(nextstep.Complete).Output)
	})
	t.Run("failed", func(t *testing.T) {
		step := start(t).(strategy.FailureHandler).ProcessFailure(nextstep.Failure{Code: delegation.CodeFailed, Message: "no"})
		mended(t, step.(nextstep.ReportError).Output)
	})
	t.Run("stopped", func(t *testing.T) { mended(t, start(t).(strategy.Concluder).Conclude("stop")) })
	t.Run("nothing to mend", func(t *testing.T) {
		s := completetask.New(completetask.Config{})()
		s.Initialize(delegation.Input{Goal: "go on", Messages: messages.History{messages.UserText("look")}})
		require.NotContains(t, s.(strategy.Concluder).Conclude("stop").Metadata, "repaired")
	})
}
