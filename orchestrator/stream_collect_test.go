package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// A fold over the events of Stream is what Run returns, however the run ends.
func TestCollect_isRun(t *testing.T) {
	call := scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("nope", "{}", "2"))
	down := scripted.Error(&llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"})
	down.Text = "half"
	ask := scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call(tools.AskUserName, `{"question":"Which file?"}`, "2"))
	for want, test := range map[machine.Status]struct {
		replies []scripted.Reply
		limits  delegation.Limits
		stop    bool
	}{
		machine.StatusDone:    {replies: []scripted.Reply{call, scripted.Text("done")}},
		machine.StatusFailed:  {replies: []scripted.Reply{call, down}},
		machine.StatusLimit:   {replies: []scripted.Reply{call, call}, limits: delegation.Limits{Steps: 3}},
		machine.StatusStopped: {replies: []scripted.Reply{call}, stop: true},
		machine.StatusWaiting: {replies: []scripted.Reply{ask}},
	} {
		t.Run(string(want), func(t *testing.T) {
			build := func() (*orchestrator.Orchestrator, orchestrator.Task) {
				ta, stop := task("go"), make(chan struct{})
				ta.Limits, ta.Stop = test.limits, stop
				ends := tools.NewRaw(tools.Definition{Name: "a"}, func(context.Context, string) (string, error) {
					if test.stop {
						close(stop)
					}
					return "A", nil
				})
				return solver(t, scripted.New(test.replies...), with(ends, tools.AskUser())), ta
			}
			o, ta := build()
			ran, runErr := o.Run(t.Context(), ta)
			o, ta = build()
			folded, foldErr := orchestrator.Collect(o.Stream(t.Context(), ta))
			require.Equal(t, want, ran.Status)
			require.Equal(t, fmt.Sprint(runErr), fmt.Sprint(foldErr))
			require.Equal(t, want == machine.StatusWaiting, len(ran.Waits) == 1)
			ran.Output, folded.Output = timeless(ran.Output), timeless(folded.Output)
			require.Equal(t, ran, folded)
		})
	}
}

// Of a run that was not begun, or not gone on with, there is an error, and that is all: a run that
// waits has not failed.
func TestCollect_notStarted(t *testing.T) {
	ta := task("go")
	ta.Strategy = "nobody"
	o := solver(t, scripted.New())
	_, runErr := o.Run(t.Context(), ta)
	res, err := orchestrator.Collect(o.Stream(t.Context(), ta))
	require.EqualError(t, err, runErr.Error())
	_, ok := errors.AsType[*strategy.UnknownError](err)
	require.True(t, ok)
	require.Equal(t, orchestrator.Result{}, res)

	o = solver(t, scripted.New(scripted.Calls(question("A?", "1"))), with(tools.AskUser()), stored(new(checkpoint.Memory)))
	ran(t, o, task("go"))
	for _, run := range []string{"r", "nobody's"} {
		res, err = orchestrator.Collect(o.Resume(t.Context(), resuming(run, machine.Reply{WaitID: "none", Text: "a"})))
		require.Error(t, err)
		require.Equal(t, orchestrator.Result{}, res)
	}
	res, err = orchestrator.Collect(func(func(machine.Event, error) bool) {})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, orchestrator.Result{}, res)
}

// Events that break off are no success.
func TestCollect_cutOff(t *testing.T) {
	some := func(yield func(machine.Event, error) bool) {
		yield(machine.Event{Run: "r", Kind: machine.EventRunStarted}, nil)
	}
	res, err := orchestrator.Collect(some)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, `orchestrator: the events of run "r" end before the run does: unexpected EOF`)
	require.Equal(t, orchestrator.Result{Run: "r", Status: machine.StatusFailed}, res)
}
