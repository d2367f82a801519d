package frame_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

func TestToolChoice(t *testing.T) {
	for _, tt := range []struct {
		choice llmclient.ToolChoice
		want   string // "" means none
		forced bool
	}{
		{llmclient.ToolChoice{}, "", false},
		{llmclient.ToolChoice{Mode: llmclient.ChooseAuto}, "", false},
		{llmclient.ToolChoice{Mode: llmclient.ChooseNone}, "", false},
		{llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, "", true},
		{llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "look"}, "", true},
		{llmclient.ToolChoice{Mode: llmclient.ChooseTool}, `p: F: "tool" needs the Name of a tool`, true},
		{llmclient.ToolChoice{Name: "look"}, `p: F: the Name "look" is for "tool" alone, and the mode is ""`, false},
		{llmclient.ToolChoice{Mode: llmclient.ChooseRequired, Name: "look"}, `p: F: the Name "look" is for "tool" alone, and the mode is "required"`, true},
		{llmclient.ToolChoice{Mode: "Auto"}, `p: F: "Auto" is not one of ["" "auto" "none" "required" "tool"]`, false},
	} {
		err := frame.ToolChoice("p", "F", tt.choice)
		if tt.want == "" {
			require.NoError(t, err, tt.choice)
		} else {
			require.EqualError(t, err, tt.want)
		}
		require.Equal(t, tt.forced, frame.Forced(tt.choice), tt.choice)
	}
}

func TestRefusesChoice(t *testing.T) {
	refuses := func(code delegation.Code, message string) bool {
		return frame.RefusesChoice(nextstep.Failure{Code: code, Message: message})
	}
	for _, message := range []string{
		`tool_choice: this model only supports "auto"`,
		"llmclient: bad_request: Invalid value for 'tool_choice': required is not supported",
		"The tool choice parameter does not support being set to required or object in thinking mode",
		"toolChoice is not supported by this model",
	} {
		require.True(t, refuses("bad_request", message), message)
		require.False(t, refuses("rate_limited", message), message)
	}
	for _, message := range []string{"", "this model has no tools", "no such parameter: choice"} {
		require.False(t, refuses("bad_request", message), message)
	}
}
