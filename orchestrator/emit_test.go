package orchestrator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// emitting is a run whose middleware emits events before each step.
func emitting(t *testing.T, emitted ...machine.Event) ([]machine.Event, error) {
	t.Helper()
	o := staged(t, only(func() *scene { return &scene{} }),
		handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			for _, e := range emitted {
				orchestrator.Emit(ctx, e)
			}
			return next(ctx, e)
		}))
	return collect(t, o, task("go"))
}

// ownKinds are the kinds of the library, each with a detail that fits.
func ownKinds() map[machine.EventKind]machine.Detail {
	forged := "forged"
	return map[machine.EventKind]machine.Detail{
		machine.EventRunStarted:   machine.RunStarted{},
		machine.EventRunResumed:   machine.RunResumed{},
		machine.EventNoted:        machine.Noting{},
		machine.EventNoteHeard:    machine.Noting{},
		machine.EventNoteUnheard:  machine.Noting{},
		machine.EventDrifted:      machine.Drifted{},
		machine.EventFrameEntered: machine.FrameEntered{},
		machine.EventStateChanged: machine.StateChanged{},
		machine.EventStepTaken:    machine.StepTaken{},
		machine.EventTextDelta:    nil,
		machine.EventThoughtDelta: nil,
		machine.EventCallDelta:    machine.CallDelta{},
		machine.EventStepSnapshot: machine.StepSnapshot{},
		machine.EventToolStarted:  machine.ToolStarted{},
		machine.EventToolFinished: machine.ToolFinished{},
		machine.EventRetryWaiting: machine.RetryWaiting{},
		machine.EventWaitStarted:  machine.WaitStarted{},
		machine.EventWaitEnded:    machine.WaitEnded{},
		machine.EventFrameLeft:    machine.FrameLeft{},
		machine.EventRunFinished:  machine.RunFinished{Status: machine.StatusDone, Output: delegation.Output{Result: &forged}},
	}
}

// A middleware cannot forge what the library tells: neither by the kind, nor by a Detail under a
// kind of its own.
func TestEmit_reserved(t *testing.T) {
	plain, err := emitting(t)
	require.NoError(t, err)
	forged := []machine.Event{
		{Text: "no kind"},
		{Kind: "a\xff"},
		{Kind: machine.EventToolProgress, Detail: machine.RunStarted{}},
		{Kind: machine.EventToolProgress, Detail: &machine.ToolProgress{}},
	}
	for kind, detail := range ownKinds() {
		forged = append(forged, machine.Event{Kind: kind, Detail: detail, Text: "x"}, machine.Event{Kind: kind, Text: "x"})
		if detail != nil {
			forged = append(forged, machine.Event{Kind: "mine", Detail: detail})
		}
	}
	events, err := emitting(t, forged...)
	require.NoError(t, err)
	require.Equal(t, kinds(plain), kinds(events))
	require.Equal(t, "hi", finished(t, events).Output.Text())
}

// What a middleware may emit is told as it is, but for what is no UTF-8.
func TestEmit_roundTrips(t *testing.T) {
	events, err := emitting(t,
		machine.Event{Kind: "mine", Text: "a\xffb"},
		machine.Event{Kind: machine.EventToolProgress, Text: "half"},
		machine.Event{Kind: machine.EventToolProgress, Text: "whole", Detail: machine.ToolProgress{CallID: "c\xff", ToolName: "t"}})
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		if e.Kind == "mine" || e.Kind == machine.EventToolProgress {
			told = append(told, e.Text)
		}
	}
	require.Equal(t, []string{"a\ufffdb", "half", "whole"}, told)
}

// An effect that is made by hand needs no run: middleware can be tested with one, and what it emits
// there goes nowhere, and what it asks is for the test to answer.
func TestMiddleware_byHand(t *testing.T) {
	careful := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			orchestrator.Emit(ctx, machine.Event{Kind: "asking", Text: e.Call.Name})
			word, err := tools.Ask(ctx, tools.Question{Text: "May " + e.Call.Name + " be called?"})
			if err != nil {
				return nil, err
			}
			if word != "yes" {
				return nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Status: messages.StatusFailed, Output: word}}, nil
			}
			return next(ctx, e)
		}
	}
	made := 0
	handler := careful(func(_ context.Context, e machine.Effect) (nextstep.Answer, error) {
		made++
		return nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Status: messages.StatusOK}}, nil
	})
	e := machine.Effect{
		ID: machine.EffectID{Seq: 2, Index: 1}, Run: "r", Frame: "0", Kind: machine.EffectTool, Call: messages.ToolCall{ID: "1", Name: "pay", Arguments: "{}"},
	}
	require.Equal(t, "r/2/1", e.Key())

	_, err := handler(t.Context(), e)
	require.ErrorIs(t, err, tools.ErrNobody, "there is nobody to ask")
	require.Zero(t, made)
	for word, want := range map[string]messages.Status{"yes": messages.StatusOK, "no": messages.StatusFailed} {
		answer, err := handler(tools.WithAsk(t.Context(), func(_ context.Context, a tools.Asked) (string, error) {
			require.Equal(t, "May pay be called?", a.Text)
			return word, nil
		}), e)
		require.NoError(t, err)
		require.Equal(t, want, answer.(nextstep.ToolResult).Output.Status)
	}
	require.Equal(t, 1, made)
}
