package frame_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/internal/frame"
)

type memory struct {
	frame.Version
	Data json.RawMessage `json:"data,omitempty"`
	Runs map[string]int  `json:"runs,omitempty"`
}

func TestSnapshot(t *testing.T) {
	data := json.RawMessage(`{"a":"<b>&"}`)
	m := memory{Version: frame.Version{V: 3}, Data: data, Runs: map[string]int{"z": 1, "a": 2}}
	text, err := frame.Snapshot("p", m)
	require.NoError(t, err)
	require.Equal(t, `{"v":3,"data":{"a":"<b>&"},"runs":{"a":2,"z":1}}`, string(text))
	var read memory
	require.NoError(t, frame.Restore("p", 3, text, &read))
	require.Equal(t, m, read)

	_, err = frame.Snapshot("p", memory{Data: json.RawMessage("{")})
	require.ErrorContains(t, err, "p: the memory cannot be written down: ")
}

func TestRestore_refuses(t *testing.T) {
	for snapshot, want := range map[string]string{
		`{"v":3,"mood":1}`:   `p: the snapshot does not fit: unknown field "mood"`,
		`{"v":2}`:            `p: the snapshot does not fit: it has version 2, and this strategy reads version 3`,
		`{"v":3,"runs":[1]}`: `p: the snapshot does not fit: cannot unmarshal array into Go struct field memory.runs of type map[string]int`,
	} {
		require.EqualError(t, frame.Restore("p", 3, json.RawMessage(snapshot), new(memory)), want)
	}
}

func TestOpenCalls(t *testing.T) {
	call := messages.ToolCall{ID: "1", Name: "look"}
	asked := messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "so"}, call}}
	require.Equal(t, []messages.ToolCall{call}, frame.OpenCalls(messages.History{messages.UserText("a"), asked}))
	require.Empty(t, frame.OpenCalls(messages.History{asked, messages.Tool{}}))
	require.Empty(t, frame.OpenCalls(nil))
}
