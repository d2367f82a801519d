package orchestrator_test

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// emitting is a run whose middleware emits events before each step.
func emitting(t *testing.T, emitted ...orchestrator.Event) ([]orchestrator.Event, error) {
	t.Helper()
	o := staged(t, only(func() *scene { return &scene{} }),
		handles(func(ctx context.Context, call orchestrator.Call, next orchestrator.Handler) (nextstep.Answer, error) {
			for _, e := range emitted {
				call.Emit(e)
			}
			return next(ctx, call)
		}))
	return collect(t, o, task("go"))
}

// ownKinds are the kinds of the library, each with a detail that fits.
func ownKinds() map[orchestrator.EventKind]orchestrator.Detail {
	forged := "forged"
	return map[orchestrator.EventKind]orchestrator.Detail{
		orchestrator.EventRunStarted:   orchestrator.RunStarted{},
		orchestrator.EventRunResumed:   orchestrator.RunResumed{},
		orchestrator.EventFrameEntered: orchestrator.FrameEntered{},
		orchestrator.EventStateChanged: orchestrator.StateChanged{},
		orchestrator.EventStepTaken:    orchestrator.StepTaken{},
		orchestrator.EventTextDelta:    nil,
		orchestrator.EventThoughtDelta: nil,
		orchestrator.EventToolStarted:  orchestrator.ToolStarted{},
		orchestrator.EventToolFinished: orchestrator.ToolFinished{},
		orchestrator.EventRetryWaiting: orchestrator.RetryWaiting{},
		orchestrator.EventWaitStarted:  orchestrator.WaitStarted{},
		orchestrator.EventWaitEnded:    orchestrator.WaitEnded{},
		orchestrator.EventFrameLeft:    orchestrator.FrameLeft{},
		orchestrator.EventRunFinished:  orchestrator.RunFinished{Status: orchestrator.StatusDone, Output: delegation.Output{Result: &forged}},
	}
}

// A middleware cannot forge what the library tells: neither by the kind, nor by a Detail under a
// kind of its own.
func TestEmit_reserved(t *testing.T) {
	plain, err := emitting(t)
	require.NoError(t, err)
	forged := []orchestrator.Event{
		{Text: "no kind"},
		{Kind: "a\xff"},
		{Kind: orchestrator.EventToolProgress, Detail: orchestrator.RunStarted{}},
		{Kind: orchestrator.EventToolProgress, Detail: &orchestrator.ToolProgress{}},
	}
	for kind, detail := range ownKinds() {
		forged = append(forged, orchestrator.Event{Kind: kind, Detail: detail, Text: "x"}, orchestrator.Event{Kind: kind, Text: "x"})
		if detail != nil {
			forged = append(forged, orchestrator.Event{Kind: "mine", Detail: detail})
		}
	}
	events, err := emitting(t, forged...)
	require.NoError(t, err)
	require.Equal(t, kinds(plain), kinds(events))
	require.Equal(t, "hi", finished(t, events).Output.Text())
}

// What a middleware may emit is told as it is, and reads as it was written.
func TestEmit_roundTrips(t *testing.T) {
	events, err := emitting(t,
		orchestrator.Event{Kind: "mine", Text: "a\xffb"},
		orchestrator.Event{Kind: orchestrator.EventToolProgress, Text: "half"},
		orchestrator.Event{Kind: orchestrator.EventToolProgress, Text: "whole", Detail: orchestrator.ToolProgress{CallID: "c\xff", ToolName: "t"}})
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		if e.Kind == "mine" || e.Kind == orchestrator.EventToolProgress {
			told = append(told, e.Text)
		}
	}
	require.Equal(t, []string{"a\ufffdb", "half", "whole"}, told)

	rapid.Check(t, func(rt *rapid.T) {
		kind := orchestrator.EventKind(rapid.SampledFrom([]string{"mine", "", "a\nb", "a\xff", "run_finished", "tool_progress", "text_delta", "tool_finished"}).Draw(rt, "kind"))
		detail := rapid.SampledFrom([]orchestrator.Detail{
			nil,
			orchestrator.RunStarted{},
			orchestrator.ToolProgress{},
			orchestrator.ToolProgress{CallID: "\xff", ToolName: "t"},
			orchestrator.RunFinished{},
			&orchestrator.ToolProgress{},
		}).Draw(rt, "detail")
		text := rapid.SampledFrom([]string{"", "a", "\xff\xfe", "\u2028"}).Draw(rt, "text")
		events, err := emitting(t, orchestrator.Event{Kind: kind, Detail: detail, Text: text})
		require.NoError(rt, err)
		for _, e := range events {
			require.True(rt, utf8.ValidString(e.Text))
			e.Time = e.Time.Round(0).UTC()
			data, err := json.Marshal(e)
			require.NoError(rt, err)
			var back orchestrator.Event
			require.NoError(rt, json.Unmarshal(data, &back), "%s", data)
			back.Time = back.Time.UTC()
			require.Equal(rt, e, back)
		}
	})
}

// A Call that no run has made tells nobody, asks nobody, and has nothing approved: middleware can
// be tested and used without an Orchestrator.
func TestCall_byHand(t *testing.T) {
	call := orchestrator.Call{Run: "r", Frame: "0", Seq: 2, Step: nextstep.ExecuteTools{Calls: []messages.ToolCall{{ID: "1", Name: "t", Arguments: "{}"}}}}
	call.Emit(orchestrator.Event{Kind: "mine"})

	_, err := call.Ask(t.Context(), orchestrator.Wait{Kind: orchestrator.WaitQuestion, Text: "A?"})
	var suspended *orchestrator.SuspendedError
	require.ErrorAs(t, err, &suspended)
	require.Len(t, suspended.Waits, 1)
	require.NotEmpty(t, suspended.Waits[0].ID)
	require.Equal(t, "A?", suspended.Waits[0].Text)
	require.Equal(t, 2, suspended.Waits[0].Seq)

	made := 0
	next := func(_ context.Context, c orchestrator.Call) (nextstep.Answer, error) {
		made++
		return nextstep.ToolResults{Results: []messages.ToolOutput{{CallID: "1", ToolName: "t", Status: messages.StatusOK}}}, nil
	}
	_, err = orchestrator.Approve(orchestrator.ApprovalConfig{})(next)(t.Context(), call)
	require.ErrorAs(t, err, &suspended)
	require.Equal(t, orchestrator.WaitApproval, suspended.Waits[0].Kind)
	require.Zero(t, made, "nobody has approved the call")

	answer, err := orchestrator.Approve(orchestrator.ApprovalConfig{Default: orchestrator.AllowNever})(next)(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, orchestrator.ReasonRefused, answer.(nextstep.ToolResults).Results[0].Reason)
	require.Zero(t, made)

	_, err = orchestrator.Approve(orchestrator.ApprovalConfig{Default: orchestrator.AllowAlways})(next)(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, 1, made)
}

// S1-2: a stream tells of each tool call that it begins, how far it is, and that it ended, in this
// order and with what it was called with and left.
func TestS1_2_toolEvents(t *testing.T) {
	half := progressing("half")
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("half", `{"n":1}`, "1"), scripted.Call("b", `{}`, "2")), scripted.Text("done")), with(half, echo("b")),
		func(c *orchestrator.Config) { c.Parallel = 1 })
	events, err := collect(t, o, task("go"))
	require.NoError(t, err)
	told := map[string][]orchestrator.Event{}
	for _, e := range events {
		switch d := e.Detail.(type) {
		case orchestrator.ToolStarted:
			told[d.Call.ID] = append(told[d.Call.ID], e)
		case orchestrator.ToolProgress:
			told[d.CallID] = append(told[d.CallID], e)
		case orchestrator.ToolFinished:
			told[d.Output.CallID] = append(told[d.Output.CallID], e)
		default: // of no call
		}
	}
	require.Equal(t, []orchestrator.EventKind{orchestrator.EventToolStarted, orchestrator.EventToolProgress, orchestrator.EventToolFinished}, kinds(told["1"]))
	require.Equal(t, []orchestrator.EventKind{orchestrator.EventToolStarted, orchestrator.EventToolFinished}, kinds(told["2"]))
	require.Equal(t, orchestrator.ToolStarted{Call: messages.ToolCall{ID: "1", Name: "half", Arguments: `{"n":1}`}}, told["1"][0].Detail)
	require.Equal(t, "half way", told["1"][1].Text)
	require.Equal(t, orchestrator.ToolProgress{CallID: "1", ToolName: "half"}, told["1"][1].Detail)
	require.Equal(t, `half{"n":1}`, told["1"][2].Detail.(orchestrator.ToolFinished).Output.Output)
	for _, e := range told["1"] {
		require.Equal(t, 2, e.Seq)
		require.Equal(t, "0", e.Frame)
	}
}
