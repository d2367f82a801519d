package messages_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
)

func TestHistory_Common(t *testing.T) {
	made := func() messages.History {
		return messages.History{
			messages.System{Text: "Be brief."},
			messages.UserText("Add 2 and 2."),
			messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "1", Name: "add", Arguments: "{}"}}},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", ToolName: "add", Output: "4"}},
		}
	}
	h := made()
	require.Equal(t, 4, h.Common(h))
	require.Equal(t, 4, h.Common(made()), "equal messages elsewhere in memory")
	require.Equal(t, 4, h.Common(append(made(), messages.AssistantText("4"))))
	require.Equal(t, 2, h.Common(h[:2]))
	require.Zero(t, h.Common(nil))
	require.Zero(t, h.Common(h[1:]))

	for i, other := range []messages.Message{
		messages.System{Text: "Be brief.", Extras: messages.Extras{"x": json.RawMessage("1")}},
		messages.User{Content: h[1].(messages.User).Content, Extras: messages.Extras{"x": json.RawMessage("1")}},
		messages.Assistant{Content: h[2].(messages.Assistant).Content, Extras: messages.Extras{"x": json.RawMessage("1")}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", ToolName: "add", Output: "4"}, Extras: messages.Extras{"x": json.RawMessage("1")}},
	} {
		changed := made()
		changed[i] = other
		require.Equal(t, i, h.Common(changed), "message %d", i)
		require.Equal(t, 4, changed.Common(append(messages.History(nil), changed...)))
	}
	require.Zero(t, messages.History{nil}.Common(messages.History{nil}), "no message")
	require.Zero(t, testing.AllocsPerRun(10, func() { h.Common(h) }))
}
