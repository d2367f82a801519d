package compact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/compact"
)

// Pictures and files count, wherever they stand.
func TestCompactor_measuresContents(t *testing.T) {
	rules, err := compact.New(&compaction.Config{Window: 1000})
	require.NoError(t, err)
	image := messages.Image{URL: "https://example.com/a.png"}
	file := messages.File{URL: "data:application/pdf;base64," + strings.Repeat("A", 40_000)}
	for _, m := range []messages.Message{
		messages.User{Content: []messages.UserContent{file}},
		messages.User{Content: []messages.UserContent{messages.File{ID: "f"}}},
		messages.User{Content: []messages.UserContent{messages.Audio{URL: strings.Repeat("A", 2_000_000)}}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a", Images: []messages.Image{image}}},
	} {
		c := rules.Compactor()
		require.True(t, c.Due(request(messages.History{m})), "%T", m)
	}
	c := rules.Compactor()
	require.False(t, c.Due(request(messages.History{messages.User{Name: "ann"}})))
}
