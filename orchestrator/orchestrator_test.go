package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// S1-1: the events of a run, in order.
func TestS1_1_eventOrder(t *testing.T) {
	sequential := func(name string) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, Sequential: true}, func(ctx context.Context, _ string) (string, error) {
			tools.Progress(ctx, "half")
			return name, nil
		})
	}
	first := scripted.Stream("a", "b")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1"), scripted.Call("two", "{}", "2")}
	o := solver(t, scripted.New(first, scripted.Text("c")), with(sequential("one"), sequential("two")))
	events, err := collect(t, o, task("go"))
	require.NoError(t, err)
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
}

// Run is a fold over the loop of Stream: the same outcome by both, however the run ends.
func TestRunEqualsStream(t *testing.T) {
	call := scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("nope", "{}", "2"))
	down := scripted.Error(&llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"})
	down.Text = "half"
	for want, test := range map[machine.Status]struct {
		replies []scripted.Reply
		limits  delegation.Limits
		stop    bool
	}{
		machine.StatusDone:    {replies: []scripted.Reply{call, scripted.Text("done")}},
		machine.StatusFailed:  {replies: []scripted.Reply{call, down}},
		machine.StatusLimit:   {replies: []scripted.Reply{call, call}, limits: delegation.Limits{Steps: 3}},
		machine.StatusStopped: {replies: []scripted.Reply{call}, stop: true},
	} {
		t.Run(string(want), func(t *testing.T) {
			build := func() (*orchestrator.Orchestrator, orchestrator.Task) {
				ta := task("go")
				ta.Limits = test.limits
				stop := make(chan struct{})
				ta.Stop = stop
				ends := tools.NewRaw(tools.Definition{Name: "a"}, func(context.Context, string) (string, error) {
					if test.stop {
						close(stop)
					}
					return "A", nil
				})
				return solver(t, scripted.New(test.replies...), with(ends)), ta
			}
			o, ta := build()
			res, err := o.Run(t.Context(), ta)
			o, ta = build()
			events, streamErr := collect(t, o, ta)
			end := finished(t, events)
			require.Equal(t, want, res.Status)
			require.Equal(t, res.Status, end.Status)
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(streamErr))
			require.Equal(t, timeless(res.Output), timeless(end.Output))
		})
	}
}

// S4-21: text that streams before a call comes before the tool's events, and stands in the history
// once.
func TestS4_21_textBeforeCall(t *testing.T) {
	first := scripted.Stream("let me ", "look")
	first.Calls = []messages.ToolCall{scripted.Call("a", "{}", "1")}
	events, err := collect(t, solver(t, scripted.New(first, scripted.Text("done")), with(echo("a"))), task("go"))
	require.NoError(t, err)
	text, closed := "", false
	for _, e := range events {
		if e.Kind == machine.EventToolStarted {
			require.Equal(t, "let me look", text)
			closed = true
		}
		if e.Kind == machine.EventTextDelta {
			text += e.Text
		}
	}
	require.True(t, closed)
	require.Equal(t, "let me lookdone", text)
	count := 0
	for _, said := range finished(t, events).Output.Texts() {
		count += strings.Count(said, "let me look")
	}
	require.Equal(t, 1, count)
}

// Events have one JSON form, which reads back as it was.
func TestEvent_JSON(t *testing.T) {
	first := scripted.Stream("a", "b")
	first.Thought = "hm"
	first.Calls = []messages.ToolCall{scripted.Call("a", "{}", "1")}
	events, err := collect(t, solver(t, scripted.New(first, scripted.Text("c")), with(echo("a"))), task("go"))
	require.NoError(t, err)
	for _, e := range events {
		e.Time = e.Time.Round(0).UTC()
		data, err := json.Marshal(e)
		require.NoError(t, err)
		var back machine.Event
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, e, back, "%s", data)
	}
	var e machine.Event
	require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"nonsense","detail":{}}`), &e), `event "nonsense": no event of this kind has a detail`)
}
