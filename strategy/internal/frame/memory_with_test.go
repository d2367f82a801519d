package frame_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// A snapshot that is written in parts is the one that encoding/json writes, byte by byte.
func TestSnapshotWith(t *testing.T) {
	type memory struct {
		frame.Version
		Note    string           `json:"note,omitempty"`
		History messages.History `json:"history"`
		Last    json.RawMessage  `json:"last,omitempty"`
	}
	extras := messages.Extras{"x": json.RawMessage(`{ "a": "<b>" }`)}
	for name, h := range map[string]messages.History{
		"none":  nil,
		"empty": {},
		"all": {
			messages.System{Text: "be <brief> & \u2028 \xff"},
			messages.UserText(`"history":{"v":1,"messages":[]}`),
			messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "so"}, messages.ToolCall{ID: "1", Name: "look", Arguments: `{"a": 1}`}}, Extras: extras},
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1", Output: "\x00 <it>", Status: messages.StatusOK}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := memory{Version: frame.Version{V: 1}, Note: `"history":{"v":1,"messages":[]}`, Last: json.RawMessage(`[1]`)}
			got, err := frame.SnapshotWith("p", h, m)
			require.NoError(t, err)
			m.History = h
			want, err := frame.Snapshot("p", m)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
	_, err := frame.SnapshotWith("p", messages.History{nil}, memory{})
	require.ErrorContains(t, err, "p: the memory cannot be written down: messages[0]")
	_, err = frame.SnapshotWith("p", nil, frame.Version{})
	require.ErrorContains(t, err, "no empty history")
}
