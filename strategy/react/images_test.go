package react_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/react"
)

// A picture that a tool shows stands behind the observation.
func TestReact_showsImagesOfTools(t *testing.T) {
	s, _ := start(react.Config{Policy: terse{}}, goal)
	resp := say("Thought: look\nAction: get_weather\nAction Input: {\"location\":\"London\"}")
	s.ProcessAPIResponse(resp)
	step := s.ProcessToolResults([]messages.ToolOutput{{
		CallID: "call_1", ToolName: "get_weather", Output: "rain", Images: []messages.Image{{URL: "https://example.com/rain.png"}},
	}})
	last := asked(t, step).Messages.Last().(messages.User)
	require.Equal(t, []messages.UserContent{messages.Text{Text: "Observation: rain" + next}, messages.Image{URL: "https://example.com/rain.png"}}, last.Content)
}
