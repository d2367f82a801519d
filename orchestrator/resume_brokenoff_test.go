package orchestrator_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A run that was broken off between two effects goes on after its last stored answer: nothing is
// asked twice, and nobody is asked about a call that was never begun.
func TestResume_brokenOff(t *testing.T) {
	script := []scripted.Reply{scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Calls(scripted.Call("a", "{}", "2")), scripted.Text("done")}
	var runs atomic.Int32
	for _, safe := range []bool{true, false} {
		a := counted("a", &runs, tools.Definition{Name: "a", ReadOnly: safe})
		whole := ran(t, solver(t, scripted.New(script...), with(a)), task("go"))
		for steps := range 5 {
			runs.Store(0)
			store := new(checkpoint.Memory)
			model := scripted.New(script...)
			taken := 0
			for e := range solver(t, model, with(a), stored(store)).Stream(t.Context(), task("go")) {
				if e.Kind == machine.EventStepTaken {
					taken++
				}
				if taken == steps && e.Kind != machine.EventRunFinished {
					break
				}
			}
			events := watchedOn(t, solver(t, model, with(a), stored(store)), "r")
			require.Equal(t, timeless(whole.Output), timeless(finished(t, events).Output), "after %d steps", steps)
			require.EqualValues(t, 2, runs.Load())
			model.AssertComplete(t)
		}
	}
}

// Breaking out of a batch ends the work and not the run: what has finished is not done again, and
// what was cut off and is safe is. Of what may have had its effect a person is asked, or the
// strategy is told, as whoever resumes the run likes.
func TestResume_brokenOffInABatch(t *testing.T) {
	hang := func(name string, runs *atomic.Int32, readOnly bool) tools.Tool {
		return tools.NewRaw(tools.Definition{Name: name, ReadOnly: readOnly}, func(ctx context.Context, _ string) (string, error) {
			if runs.Add(1) > 1 {
				return name + " again", nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
	}
	for name, tt := range map[string]struct {
		how     orchestrator.Resumption
		reply   machine.Reply // to the wait, if there is one
		waits   int
		status  messages.Status
		says    string
		payings int32
	}{
		"told":       {how: orchestrator.Resumption{Unknown: machine.UnknownTell}, status: messages.StatusUnknown, says: "unknown", payings: 1},
		"made again": {reply: machine.Reply{Approve: true}, waits: 1, status: messages.StatusOK, says: "risky again", payings: 2},
		"not known":  {reply: machine.Reply{Text: "the bank does not know either"}, waits: 1, status: messages.StatusUnknown, says: "the bank does not know either", payings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var quick, safe, risky atomic.Int32
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("quick", "{}", "1"), scripted.Call("safe", "{}", "2"), scripted.Call("risky", "{}", "3")), scripted.Text("done")),
				stored(new(checkpoint.Memory)), with(counted("quick", &quick), hang("safe", &safe, true), hang("risky", &risky, false)))
			for e := range o.Stream(t.Context(), task("go")) {
				if d, ok := e.Detail.(machine.ToolFinished); ok && d.Output.ToolName == "quick" {
					require.Eventually(t, func() bool { return safe.Load() == 1 && risky.Load() == 1 }, time.Minute, time.Millisecond)
					break
				}
			}
			tt.how.Run = "r"
			events, err := all(t, o.Resume(t.Context(), tt.how))
			require.NoError(t, err)
			end := finished(t, events)
			require.Len(t, end.Waits, tt.waits)
			if tt.waits > 0 {
				require.Equal(t, machine.WaitUnknown, end.Waits[0].Kind)
				require.Equal(t, "3", end.Waits[0].CallID)
				tt.reply.WaitID = end.Waits[0].ID
				events = watchedOn(t, o, "r", tt.reply)
				end = finished(t, events)
			}
			require.Equal(t, machine.StatusDone, end.Status)
			metas := end.Output.ToolMetas()
			require.Equal(t, "did quick", metas[0].Output)
			require.Equal(t, "safe again", metas[1].Output)
			require.Equal(t, tt.status, metas[2].Status)
			require.Contains(t, metas[2].Output, tt.says)
			require.EqualValues(t, 1, quick.Load())
			require.Equal(t, tt.payings, risky.Load())
		})
	}
}
