package reasonactobserve_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
)

// A note that comes while a summary is awaited is in the next request.
func TestCompact_noteDuringSummary(t *testing.T) {
	s := rao.New(rao.Config{Prompts: brief, Compact: &compaction.Config{Keep: 1, Prompts: smallPrompts}})()
	s.(strategy.ToolUser).UseTools(nil)
	s.Initialize(delegation.Input{Goal: "go", Messages: messages.History{messages.UserText(strings.Repeat("old ", 3000)), messages.AssistantText("old")}})
	step := s.(strategy.FailureHandler).ProcessFailure(nextstep.Failure{Code: delegation.Code(llmclient.CodeContextLength)})
	require.True(t, step.(nextstep.GetChatCompletion).Aside)
	s.(strategy.Listener).Hear("a note")
	step = s.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("summary")})
	h := step.(nextstep.GetChatCompletion).Request.Messages
	require.Equal(t, "a note", h[len(h)-2].(messages.User).Text())
}
