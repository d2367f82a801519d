package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// A time-out ends a run or a request, and what was generated until then is kept.
func TestTimeouts(t *testing.T) {
	for name, test := range map[string]struct {
		timeouts orchestrator.Timeouts
		status   machine.Status
		after    time.Duration
		want     string
	}{
		"run":   {orchestrator.Timeouts{Run: time.Minute}, machine.StatusStopped, time.Minute, "the run took longer than 1m0s"},
		"model": {orchestrator.Timeouts{Model: 90 * time.Second}, machine.StatusFailed, 90 * time.Second, "no reply within 1m30s"},
		"idle":  {orchestrator.Timeouts{ModelIdle: 20 * time.Second}, machine.StatusFailed, 60 * time.Second, "nothing arrived for 20s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
					if onDelta != nil {
						for range 5 {
							time.Sleep(8 * time.Second)
							if ctx.Err() == nil {
								onDelta(llmclient.Delta{Text: "."})
							}
						}
					}
					<-ctx.Done()
					return nil, &llmclient.Error{Code: llmclient.CodeTimeout, Partial: messages.AssistantText("half"), Err: context.Cause(ctx)}
				})
				o := solver(t, hang, func(c *orchestrator.Config) { c.Timeouts = test.timeouts })
				start := time.Now()
				events, err := collect(t, o, task("go"))
				require.ErrorContains(t, err, test.want)
				end := finished(t, events)
				require.Equal(t, test.status, end.Status)
				require.Equal(t, messages.AssistantText("half"), end.Output.Messages.Last(), "what was generated until then is kept")
				require.InDelta(t, test.after.Seconds(), time.Since(start).Seconds(), 6)
			})
		})
	}
}

// A panic in the consumer's loop is the consumer's: it is not taken for one of the run.
func TestStream_consumerPanics(t *testing.T) {
	for _, kind := range []machine.EventKind{machine.EventRunStarted, machine.EventTextDelta, machine.EventToolStarted, machine.EventRunFinished} {
		first := scripted.Stream("a")
		first.Calls = []messages.ToolCall{scripted.Call("a", "{}", "1")}
		o := solver(t, scripted.New(first, scripted.Text("b")), with(echo("a")))
		require.PanicsWithValue(t, "the consumer's own", func() {
			for e := range o.Stream(t.Context(), task("go")) {
				if e.Kind == kind {
					panic("the consumer's own")
				}
			}
		}, "%s", kind)
	}
}

// A consumer may panic while a model streams on another goroutine, and goes on to for a while.
func TestStream_consumerPanicsBesideAModel(t *testing.T) {
	ended := make(chan struct{})
	client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
		defer close(ended)
		onDelta(llmclient.Delta{Text: "a"})
		<-ctx.Done()
		for range 1000 {
			onDelta(llmclient.Delta{Text: "b"})
		}
		return nil, ctx.Err()
	})
	o := solver(t, client, handles(passing))
	require.PanicsWithValue(t, "the consumer's own", func() {
		for e := range o.Stream(t.Context(), task("go")) {
			if e.Kind == machine.EventTextDelta {
				panic("the consumer's own")
			}
		}
	})
	waittest.Receive(t, ended)
}

// A stop and a time-out keep their causes within reach.
func TestCauses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user left")
	cancel(gone)
	_, err := solver(t, scripted.New()).Run(ctx, task("go"))
	require.ErrorIs(t, err, gone)
	require.ErrorIs(t, err, context.Canceled)

	synctest.Test(t, func(t *testing.T) {
		plain := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for _, timeouts := range []orchestrator.Timeouts{{Model: time.Minute}, {ModelIdle: time.Minute}, {Run: time.Minute}} {
			_, err := collect(t, solver(t, plain, func(c *orchestrator.Config) { c.Timeouts = timeouts }), task("go"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			if timeouts.Run == 0 {
				require.Equal(t, llmclient.CodeTimeout, llmclient.CodeOf(err))
			}
		}
	})
}

// concluding gives messages of its own when it is stopped.
type concluding struct{ scene }

func (c *concluding) Conclude(string) delegation.Output {
	return delegation.Output{Messages: messages.History{messages.UserText("in my own words")}}
}

// What a stop cut off stands behind the messages that a strategy gives itself, too.
func TestStop_ownMessages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := llmclient.ClientFunc(func(ctx context.Context, _ *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		cancel()
		return nil, &llmclient.Error{Code: llmclient.CodeCanceled, Partial: messages.AssistantText("half"), Err: ctx.Err()}
	})
	o := solver(t, client, func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": func() strategy.Strategy { return new(concluding) }}
	})
	res, err := o.Run(ctx, task("go"))
	require.Error(t, err)
	require.Equal(t, messages.History{messages.UserText("in my own words"), messages.AssistantText("half")}, res.Output.Messages)
}
