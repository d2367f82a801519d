package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// lawful checks the laws of the events of a run that was watched to its end.
func lawful(t require.TestingT, events []machine.Event) {
	require.NotEmpty(t, events)
	first, last := events[0], events[len(events)-1]
	require.Contains(t, []machine.EventKind{machine.EventRunStarted, machine.EventRunResumed}, first.Kind)
	require.Equal(t, machine.EventRunFinished, last.Kind)
	seq, running, entered, left := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	for i, e := range events {
		require.Equal(t, first.Run, e.Run)
		require.GreaterOrEqual(t, e.Seq, seq[e.Frame], "the steps of a frame never decrease")
		require.Equal(t, strings.Count(e.Frame, ".")+1, e.Depth)
		require.False(t, e.Time.IsZero())
		seq[e.Frame] = e.Seq
		call := func(id string) string { return fmt.Sprint(e.Seq, e.Frame, id) }
		if i > 0 && i < len(events)-1 && e.Kind != machine.EventFrameEntered {
			require.True(t, entered[e.Frame] || first.Kind == machine.EventRunResumed, "the frame %s was entered, if not before the run waited", e.Frame)
			require.False(t, left[e.Frame], "and not left")
		}
		switch d := e.Detail.(type) {
		case machine.RunStarted, machine.RunResumed:
			require.Zero(t, i)
		case machine.RunFinished:
			require.Equal(t, len(events)-1, i, "nothing comes after the end")
		case machine.FrameEntered:
			require.False(t, entered[e.Frame])
			entered[e.Frame] = true
		case machine.FrameLeft:
			left[e.Frame] = true
		case machine.ToolStarted:
			require.Zero(t, running[call(d.Call.ID)], "%s starts once", d.Call.ID)
			running[call(d.Call.ID)] = 1
		case machine.ToolProgress:
			require.Equal(t, 1, running[call(d.CallID)], "%s runs", d.CallID)
		case machine.ToolFinished:
			require.LessOrEqual(t, running[call(d.Output.CallID)], 1, "%s ends once", d.Output.CallID)
			running[call(d.Output.CallID)] = 2
		}
	}
	for id, state := range running {
		require.Equal(t, 2, state, "the call %s has ended", id)
	}
}

// tree is an orchestrator whose root hands its goal to a child, which asks a model that fails
// first, thinks, writes, and calls tools in parallel that make progress; then the root asks for a
// last word. A middleware tells of each step.
func tree(t *testing.T, running *atomic.Int32) (*orchestrator.Orchestrator, *scripted.Client) {
	t.Helper()
	down := scripted.Error(&llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"})
	down.Text = "void"
	work := scripted.Stream("let me ", "look")
	work.Thought = "hm"
	for i, name := range []string{"quick", "slow", "alone", "nope", "fails", "slow"} {
		work.Calls = append(work.Calls, scripted.Call(name, "{}", fmt.Sprint(i)))
	}
	model := scripted.New(down, work, scripted.Stream("a", "b"), scripted.Stream("the ", "end"))
	tool := func(def tools.Definition, d time.Duration, fail error) tools.Tool {
		return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
			running.Add(1)
			defer running.Add(-1)
			for _, text := range []string{"begun", "half"} {
				tools.Progress(ctx, text)
				select {
				case <-time.After(d):
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			return def.Name, fail
		})
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: llmclient.Retry(model, llmclient.RetryConfig{AfterOutput: true}),
		Strategies: strategy.Set{
			"work": completetask.New(completetask.Config{}),
			"main": func() strategy.Strategy {
				return &scene{
					Start: func(in delegation.Input) nextstep.NextStep { return nextstep.Delegate{Strategy: "work", Input: in} },
					Child: func(out delegation.Output) nextstep.NextStep { return ask(out.Text()) },
				}
			},
		},
		Default: "main",
		Tools: []tools.Tool{
			tool(tools.Definition{Name: "quick"}, 0, nil),
			tool(tools.Definition{Name: "slow"}, time.Second, nil),
			tool(tools.Definition{Name: "alone", Sequential: true}, time.Millisecond, nil),
			tool(tools.Definition{Name: "fails"}, time.Millisecond, errors.New("no luck")),
		},
		Middleware: []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
			return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
				orchestrator.Emit(ctx, machine.Event{Kind: "before"})
				answer, err := next(ctx, e)
				orchestrator.Emit(ctx, machine.Event{Kind: "after"})
				return answer, err
			}
		}},
	})
	require.NoError(t, err)
	return o, model
}

// Breaking out at any event stops the run at once: no tool runs any more, no model is asked again,
// no goroutine is left, and nothing is yielded.
func TestStream_breakAnywhere(t *testing.T) {
	var whole []machine.Event
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		o, _ := tree(t, &running)
		events := watched(t, o, task("go"))
		require.Equal(t, "the end", finished(t, events).Output.Text())
		lawful(t, events)
		whole = events
	})
	seen := map[machine.EventKind]bool{}
	for at, e := range whole {
		seen[e.Kind] = true
		t.Run(fmt.Sprintf("%d %s", at, e.Kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int32
				o, model := tree(t, &running)
				var left time.Time
				asked, n := 0, 0
				for range o.Stream(t.Context(), task("go")) {
					if n++; n == at+1 {
						left, asked = time.Now(), len(model.Requests())
						break
					}
				}
				require.Equal(t, at+1, n)
				require.Zero(t, running.Load(), "its tools have ended")
				require.Less(t, time.Since(left), toolrun.DefaultGrace)
				if e.Kind == "before" {
					asked++ // its effect has begun, and asks unless the break reaches it first
				}
				require.LessOrEqual(t, len(model.Requests()), asked)
			})
		})
	}
	for _, kind := range []machine.EventKind{
		machine.EventRunStarted, machine.EventFrameEntered, machine.EventStateChanged, machine.EventStepTaken,
		machine.EventTextDelta, machine.EventThoughtDelta, machine.EventToolStarted, machine.EventToolProgress,
		machine.EventToolFinished, machine.EventRetryWaiting, machine.EventFrameLeft, machine.EventRunFinished,
	} {
		require.True(t, seen[kind], "the run has a %s", kind)
	}
}
