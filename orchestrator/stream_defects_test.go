package orchestrator_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// A. What a call asks is told between its start and its end.
func TestStream_waitsAreToldWithinTheirCall(t *testing.T) {
	for range 50 {
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("ask_user", `{"question":"q"}`, "1")), scripted.Text("done")), with(tools.AskUser()),
			func(c *orchestrator.Config) {
				c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
					return machine.Reply{Text: "x"}, nil
				}
			})
		events := watched(t, o, task("go"))
		var story []machine.EventKind
		for _, e := range events {
			if e.Seq == 2 && e.Kind != machine.EventStateChanged && e.Kind != machine.EventStepTaken {
				story = append(story, e.Kind)
			}
		}
		require.Equal(t, []machine.EventKind{
			machine.EventToolStarted, machine.EventWaitStarted, machine.EventWaitEnded, machine.EventToolFinished,
		}, story)
	}
}

// B. The time that a consumer takes is not the silence of a model.
func TestStream_slowConsumerIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := solver(t, scripted.New(scripted.Stream("a", "b", "c")), func(c *orchestrator.Config) { c.Timeouts.ModelIdle = 20 * time.Second })
		for e, err := range o.Stream(t.Context(), task("go")) {
			require.NoError(t, err)
			if e.Kind == machine.EventTextDelta {
				time.Sleep(time.Minute)
			}
		}
	})
}

// G. A client that waits before it tries again is not silent: Timeouts.ModelIdle is for the pieces
// of a reply.
func TestStream_retryIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmclient.Retry(scripted.New(
			scripted.Error(&llmclient.Error{Code: llmclient.CodeRateLimited, RetryAfter: time.Minute}), scripted.Stream("a", "b"),
		), llmclient.RetryConfig{})
		watched(t, solver(t, model, func(c *orchestrator.Config) { c.Timeouts.ModelIdle = 20 * time.Second }), task("go"))
	})
}

// E. The last event can be written whatever a strategy leaves.
func TestStream_lastEventIsJSON(t *testing.T) {
	o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: strategy.Set{"m": func() strategy.Strategy {
		return &scene{Start: func(delegation.Input) nextstep.NextStep {
			return nextstep.Complete{Output: delegation.Output{Metadata: delegation.Metadata{"x": json.RawMessage("{")}}}
		}}
	}}})
	require.NoError(t, err)
	events, _ := collect(t, o, task("go"))
	_, err = json.Marshal(events[len(events)-1])
	require.NoError(t, err)
}

// A client that panics on a goroutine of its own while the consumer has the word is contained, as
// ever: the panic is not the consumer's.
func TestStream_panicWhileTheConsumerHasTheWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmclient.ClientFunc(func(_ context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			onDelta(llmclient.Delta{Text: "a"})
			time.Sleep(time.Second)
			panic("the client")
		})
		o := solver(t, client, handles(passing))
		var last error
		for e, err := range o.Stream(t.Context(), task("go")) {
			if last = err; e.Kind == machine.EventTextDelta {
				time.Sleep(time.Minute)
			}
		}
		require.ErrorContains(t, last, "panicked")
	})
}
