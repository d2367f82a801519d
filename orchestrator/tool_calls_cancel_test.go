package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// hung ignores its context until release is closed.
func hung(name string, release <-chan struct{}, def tools.Definition) tools.Tool {
	def.Name = name
	return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
		<-release
		tools.Progress(ctx, "too late")
		orchestrator.Emit(ctx, machine.Event{Kind: "mine", Text: "too late"})
		return "too late", nil
	})
}

// A tool that does not return although its time is over is abandoned: its result says so, nothing
// more is heard of it, and neither its siblings nor later steps wait for it.
func TestToolCalls_hungToolIsAbandoned(t *testing.T) {
	for name, edit := range map[string]func(*orchestrator.Config){"bare": func(*orchestrator.Config) {}, "wrapped": handles(passing)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				list := []tools.Tool{
					hung("writes", release, tools.Definition{}), hung("reads", release, tools.Definition{ReadOnly: true, Timeout: 3 * time.Second}), sleeper("fine", time.Second),
				}
				o := batchOf(t, callsTo("writes", "reads", "fine"), list, edit, func(c *orchestrator.Config) { c.Timeouts.Tool = 2 * time.Second })
				began := time.Now()
				events := watched(t, o, task("go"))
				require.Equal(t, 3*time.Second+toolrun.DefaultGrace, time.Since(began), "the time-out and the grace of the slower")
				outs := finished(t, events).Output.ToolMetas()
				require.Equal(t, messages.ToolOutput{
					CallID: "c0", ToolName: "writes", Status: messages.StatusUnknown, Reason: tools.ReasonTimeout, Elapsed: 2*time.Second + toolrun.DefaultGrace,
					Output: "tools: writes was stopped after its time-out of 2s, and whether it had an effect is unknown; it did not stop, was abandoned and may still be running",
				}, outs[0])
				require.Equal(t, messages.ToolOutput{
					CallID: "c1", ToolName: "reads", Status: messages.StatusFailed, Reason: tools.ReasonTimeout, Elapsed: 3*time.Second + toolrun.DefaultGrace,
					Output: "tools: reads was stopped after its time-out of 3s; it did not stop, was abandoned and may still be running",
				}, outs[1])
				require.Equal(t, "fine", outs[2].Output)
				before := slices.Clone(outs)
				close(release)
				synctest.Wait()
				require.Equal(t, before, outs)
				require.Zero(t, count(events, machine.EventToolProgress))
			})
		})
	}
}

// The places of calls that were abandoned are free again.
func TestToolCalls_abandonedCallsKeepNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		list := []tools.Tool{hung("hung", release, tools.Definition{}), sleeper("fine", time.Second)}
		outs := results(t, batchOf(t, callsTo("hung", "hung", "fine", "fine"), list, parallel(2), func(c *orchestrator.Config) { c.Timeouts.Tool = time.Minute }))
		require.Equal(t, []string{tools.ReasonTimeout, tools.ReasonTimeout, "", ""}, []string{outs[0].Reason, outs[1].Reason, outs[2].Reason, outs[3].Reason})
		close(release)
		synctest.Wait()
	})
}

// When a run is cancelled in the midst of a batch, calls that have ended keep their results, those
// that are made are cut off or abandoned, and those that wait for a place are not started.
func TestToolCalls_interrupted(t *testing.T) {
	for name, edit := range map[string]func(*orchestrator.Config){"bare": func(*orchestrator.Config) {}, "wrapped": handles(passing)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var started atomic.Int32
				list := []tools.Tool{sleeper("quick", time.Second), sleeper("long", 30*time.Second), hung("hung", release, tools.Definition{}), counted("next", &started)}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(2*time.Second, func() { cancel(errors.New("the user left")) })
				began := time.Now()
				res, err := batchOf(t, callsTo("quick", "long", "hung", "next", "next"), list, parallel(2), edit).Run(ctx, task("go"))
				require.ErrorContains(t, err, "the user left")
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, 2*time.Second+toolrun.DefaultGrace, time.Since(began))
				require.Zero(t, started.Load())
				outs := res.Output.ToolMetas()
				require.Equal(t, "quick", outs[0].Output, "it has ended before")
				require.Equal(t, messages.ToolOutput{
					CallID: "c1", ToolName: "long", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Elapsed: 2 * time.Second,
					Output: "tools: long was interrupted, and whether it had an effect is unknown: the user left",
				}, outs[1])
				require.Equal(t, messages.StatusUnknown, outs[2].Status)
				require.Equal(t, messages.ReasonInterrupted, outs[2].Reason)
				require.Contains(t, outs[2].Output, "abandoned")
				for _, out := range outs[3:] {
					require.Equal(t, messages.StatusFailed, out.Status)
					require.Equal(t, machine.ReasonNotStarted, out.Reason)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// Of a run that is cancelled before the tools of a batch are called none is called, and each result
// says that its call was not started.
func TestToolCalls_cancelledBeforeTheyAreMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var started atomic.Int32
	list := []tools.Tool{counted("raw", &started), tools.NewRaw(tools.Definition{Name: "alone", Sequential: true}, func(context.Context, string) (string, error) {
		started.Add(1)
		return "", nil
	})}
	var end machine.RunFinished
	for e := range batchOf(t, callsTo("raw", "alone", "raw"), list).Stream(ctx, task("go")) {
		if e.Kind == machine.EventStepTaken {
			cancel()
		}
		end, _ = e.Detail.(machine.RunFinished)
	}
	require.Equal(t, machine.StatusStopped, end.Status)
	require.Zero(t, started.Load())
	require.Len(t, end.Output.ToolMetas(), 3)
	for _, out := range end.Output.ToolMetas() {
		require.Equal(t, messages.StatusFailed, out.Status)
		require.Equal(t, machine.ReasonNotStarted, out.Reason)
	}
}
