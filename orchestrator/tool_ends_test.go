package orchestrator_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// A tool returns at about the time at which nobody waits for it any more: there is one result in
// each case.
func TestRun_toolReturnsAsItsTimeEnds(t *testing.T) {
	const limit = 50 * time.Millisecond
	takes := []time.Duration{time.Millisecond, 2 * time.Millisecond, limit, limit + toolrun.DefaultGrace, time.Second}
	model := always(func(req *llmclient.Request) scripted.Reply {
		if answered(req) {
			return scripted.Text("end")
		}
		return scripted.Calls(scripted.Call("slow", "{}", "c1"))
	})
	synctest.Test(t, func(t *testing.T) {
		var made, kept, lost atomic.Int64
		tool := tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true, Timeout: limit}, func(context.Context, string) (string, error) {
			made.Add(1)
			time.Sleep(takes[rand.N(len(takes))] + rand.N(5*time.Nanosecond) - 2) // it does not look at its context
			return "done", nil
		})
		o := solver(t, model, with(tool))
		each := max(1, prove.Cases()/100)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range each {
					res, err := o.Run(t.Context(), task("go"))
					outs := outputsOf(res.Output.Messages)
					if err != nil || res.Output.Text() != "end" || res.Output.Counts.ToolCalls != 1 || len(outs) != 1 {
						t.Errorf("%s %v: %q, %+v, %v", res.Status, err, res.Output.Text(), res.Output.Counts, outs)
						return
					}
					if outs[0].Output == "done" {
						kept.Add(1)
					} else {
						lost.Add(1)
					}
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 100*each, made.Load())
		require.Positive(t, kept.Load(), "some return in time")
		require.Positive(t, lost.Load(), "some do not")
		time.Sleep(time.Minute) // the last return
	})
}

func outputsOf(h messages.History) (all []messages.ToolOutput) {
	for _, m := range h {
		if out, ok := m.(messages.Tool); ok {
			all = append(all, out.ToolOutput)
		}
	}
	return all
}
