package react_test

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
	"github.com/segue-go/segue/strategy/react"
)

// A note that comes together with an unusable reply does not make a compaction forget what was
// wrong with the reply. The model is told each of them once, also after a snapshot.
func TestCompact_noteAfterUnusableReply(t *testing.T) {
	cfg := react.Config{Compact: &compaction.Config{Keep: 1, How: compaction.Trim}, Prompts: react.Prompts{Again: "What was wrong."}}
	s, _ := start(cfg, delegation.Input{Goal: "go", Messages: messages.History{messages.UserText(strings.Repeat("old ", 2000)), messages.AssistantText("old")}})
	s.(strategy.Listener).Hear("a note")
	s.ProcessAPIResponse(say("Thought: t"))
	memory, err := s.(strategy.Snapshotter).Snapshot()
	require.NoError(t, err)
	require.Contains(t, string(memory), `"aside_notes":1`)

	step := s.(strategy.FailureHandler).ProcessFailure(nextstep.Failure{Code: delegation.Code(llmclient.CodeContextLength)})
	var said []string
	for _, m := range asked(t, step).Messages {
		switch m := m.(type) {
		case messages.User:
			said = append(said, m.Text())
		case messages.Assistant:
			said = append(said, m.Text())
		}
	}
	require.Equal(t, []string{"go", "Thought: t", "What was wrong.", "a note"}, said[len(said)-4:])
	require.NotContains(t, strings.Join(said, "\n"), "old old")
	require.Equal(t, 1, strings.Count(strings.Join(said, "\n"), "a note"))
}
