package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// S1-29: whatever is tried again inside, a run starts once and ends once. What a client tries again
// says which attempt it was; what a strategy delegates again has a frame of its own.
func TestS1_29_retries(t *testing.T) {
	down := scripted.Error(&llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"})
	terminals := func(events []machine.Event) (started, ended int) {
		lawful(t, events)
		for _, e := range events {
			switch e.Kind {
			case machine.EventRunStarted:
				started++
			case machine.EventRunFinished:
				ended++
			default:
			}
		}
		return started, ended
	}
	t.Run("by the client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			model := llmclient.Retry(scripted.New(down, down, scripted.Text("done")), llmclient.RetryConfig{})
			events := watched(t, solver(t, model), task("go"))
			started, ended := terminals(events)
			require.Equal(t, []int{1, 1}, []int{started, ended})
			var attempts []int
			for _, d := range details[machine.RetryWaiting](events) {
				attempts = append(attempts, d.Attempt)
			}
			require.Equal(t, []int{1, 2}, attempts)
		})
	})
	t.Run("by a strategy", func(t *testing.T) {
		o, err := orchestrator.New(orchestrator.Config{
			Client: scripted.New(down, scripted.Stream("do", "ne")),
			Strategies: strategy.Set{
				"attempt": completetask.New(completetask.Config{}),
				"again": func() strategy.Strategy {
					attempt := func(in delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "attempt", Input: in} }
					return &scene{Start: attempt, Child: func(out delegation.Output) nextstep.NextStep {
						if out.Err != nil {
							return attempt(delegation.Input{Goal: "go, and mind that " + out.Err.Message})
						}
						return done(out.Text())
					}}
				},
			},
			Default: "again",
		})
		require.NoError(t, err)
		events := watched(t, o, task("go"))
		started, ended := terminals(events)
		require.Equal(t, []int{1, 1}, []int{started, ended})
		var story []string
		for _, e := range events {
			switch d := e.Detail.(type) {
			case machine.FrameEntered:
				story = append(story, "enter "+e.Frame)
			case machine.FrameLeft:
				story = append(story, fmt.Sprintf("leave %s %v", e.Frame, d.Err == nil))
			case nil:
				story = append(story, e.Frame+" "+e.Text)
			default:
			}
		}
		require.Equal(t, []string{
			"enter 0",
			"enter 0.1", "leave 0.1 false",
			"enter 0.2", "0.2 do", "0.2 ne", "leave 0.2 true",
			"leave 0 true",
		}, story)
	})
}

// S1-32, S4-20: an error in a provider's stream is one terminal event, failed; what was read before
// is kept.
func TestS1_32_S4_20_streamFails(t *testing.T) {
	for _, partial := range []string{"", "half"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q}}]}\n\n", partial)
			_, _ = io.WriteString(w, `data: {"error":{"message":"the model fell over","type":"server_error"}}`+"\n\n")
		}))
		defer server.Close()
		client, err := openaichat.New(openaichat.Config{BaseURL: server.URL, APIKey: "k", Model: "m", MaxRetries: -1})
		require.NoError(t, err)
		events, err := collect(t, solver(t, client), task("go"))
		require.ErrorContains(t, err, "the model fell over")
		lawful(t, events)
		end := finished(t, events)
		require.Equal(t, machine.StatusFailed, end.Status)
		want := messages.History{messages.UserText("go")}
		if partial != "" {
			want = append(want, messages.AssistantText(partial))
		}
		require.Equal(t, want, end.Output.Messages)
		require.Equal(t, partial != "", count(events, machine.EventTextDelta) > 0)
	}
}

// S3-8: an error of a step is a run that started, one terminal event that says failed, and the
// error itself.
func TestS3_8_stepError(t *testing.T) {
	broken := errors.New("the step failed")
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Text("never")),
		Strategies: strategy.Set{"main": func() strategy.Strategy {
			return &scene{Start: func(delegation.Input) nextstep.NextStep { return nextstep.ReportError{Err: broken} }}
		}},
	})
	require.NoError(t, err)
	events, err := collect(t, o, task("go"))
	require.ErrorIs(t, err, broken)
	lawful(t, events)
	require.Equal(t, []machine.EventKind{
		machine.EventRunStarted, machine.EventFrameEntered, machine.EventFrameLeft, machine.EventRunFinished,
	}, kinds(events))
	end := finished(t, events)
	require.Equal(t, machine.StatusFailed, end.Status)
	require.Equal(t, delegation.CodeFailed, end.Output.Err.Code)
	_, err = o.Run(t.Context(), task("go"))
	require.ErrorIs(t, err, broken)
}

// S3-16: a run that is canceled between two steps ends stopped, with a code that says so and one
// terminal event.
func TestS3_16_canceledBetweenSteps(t *testing.T) {
	for _, at := range []machine.EventKind{machine.EventStepTaken, machine.EventStateChanged} {
		ctx, cancel := context.WithCancel(t.Context())
		model := scripted.New(scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Text("never"))
		var events []machine.Event
		var last error
		for e, err := range solver(t, model, with(echo("a"))).Stream(ctx, task("go")) {
			events, last = append(events, e), err
			if e.Kind == at && e.Seq == 2 {
				cancel()
			}
		}
		cancel()
		require.ErrorIs(t, last, context.Canceled)
		lawful(t, events)
		end := finished(t, events)
		require.Equal(t, machine.StatusStopped, end.Status)
		require.Equal(t, delegation.CodeStopped, end.Output.Err.Code)
		require.Equal(t, "a{}", end.Output.ToolMetas()[0].Output)
		require.NoError(t, end.Output.Messages.Validate())
		require.Len(t, model.Requests(), 1)
	}
}
