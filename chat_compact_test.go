package segue_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/compaction"
)

// The text of a summary is no text of an answer: who reads along does not see it.
func TestChat_summariesAreNotStreamed(t *testing.T) {
	long := strings.Repeat("It is very long. ", 60)
	for name, redact := range map[string]func(*orchestrator.Config){
		"as it is written": nil,
		"after it was redacted": func(c *orchestrator.Config) {
			c.Redact = func(r machine.Record) (machine.Record, error) { return r, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &segue.Agent{
				Model:     scripted.New(scripted.Text(long), scripted.Stream("The first river ", "is long."), scripted.Stream("The second ", "is longer.")),
				Compact:   &compaction.Config{Window: 300, Keep: 1},
				Configure: redact,
			}
			chat := agent.Chat(nil)
			_, err := chat.Ask(t.Context(), "How long is the first river?")
			require.NoError(t, err)
			var read []string
			for piece, err := range chat.Stream(t.Context(), "And the second?") {
				require.NoError(t, err)
				read = append(read, piece)
			}
			require.Equal(t, "The second is longer.", strings.Join(read, ""))
			require.Len(t, chat.History, 3)
			summary := chat.History[0].(messages.User)
			require.True(t, summary.Summary)
			require.Contains(t, summary.Text(), "The first river is long.")
		})
	}
}
