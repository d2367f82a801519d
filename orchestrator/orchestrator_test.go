package orchestrator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// S1-1, S4-21: the events of a run, in order: text that streams before a call comes before the
// events of its tool, and stands in the history once.
func TestS1_1_S4_21_eventOrder(t *testing.T) {
	sequential := func(name string) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, Sequential: true}, func(ctx context.Context, _ string) (string, error) {
			tools.Progress(ctx, "half")
			return name, nil
		})
	}
	first := scripted.Stream("a", "b")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1"), scripted.Call("two", "{}", "2")}
	o := solver(t, scripted.New(first, scripted.Text("c")), with(sequential("one"), sequential("two")))
	events := watched(t, o, task("go"))
	var story []string
	for _, e := range events {
		switch d := e.Detail.(type) {
		case nil:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, e.Text))
		case machine.StateChanged:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, d.To))
		case machine.ToolStarted:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, d.Call.Name))
		case machine.ToolProgress:
			story = append(story, fmt.Sprintf("%s %s %s", e.Kind, d.ToolName, e.Text))
		case machine.ToolFinished:
			story = append(story, fmt.Sprintf("%s %s", e.Kind, d.Output.ToolName))
		default:
			story = append(story, string(e.Kind))
		}
		require.Equal(t, "r", e.Run)
		require.Equal(t, "0", e.Frame)
		require.Equal(t, 1, e.Depth)
		require.False(t, e.Time.IsZero())
	}
	require.Equal(t, []string{
		"run_started", "frame_entered", "state_changed awaiting_model",
		"text_delta a", "text_delta b", "step_taken", "state_changed awaiting_tools",
		"tool_started one", "tool_progress one half", "tool_finished one",
		"tool_started two", "tool_progress two half", "tool_finished two",
		"step_taken", "state_changed awaiting_model",
		"text_delta c", "step_taken", "state_changed done",
		"frame_left", "run_finished",
	}, story)
	require.Equal(t, []string{"ab", "c"}, finished(t, events).Output.Texts())
}
