package orchestrator_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// What a provider put beside a reply comes out of the journal as it went in, to the byte.
func TestResume_extrasWithMarkup(t *testing.T) {
	store := new(checkpoint.Memory)
	first := true
	client := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		if !first {
			return &llmclient.Response{Message: messages.AssistantText("done")}, nil
		}
		first = false
		return &llmclient.Response{Message: messages.Assistant{
			Content: []messages.AssistantContent{question("Which?", "1")},
			Extras:  messages.Extras{"reasoning_content": json.RawMessage(`"is a < b && b > c\u2028?"`)},
		}}, nil
	})
	o := solver(t, client, stored(store), with(tools.AskUser(), echo("a")))
	res := ran(t, o, task("go"))
	require.Equal(t, machine.StatusWaiting, res.Status)
	res = goOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "b"})
	require.Equal(t, "done", res.Output.Text())
	goOn(t, o, "r")
}

// A run in progress is not taken up a second time, with leases and without.
func TestResume_inProgress(t *testing.T) {
	for _, lease := range []time.Duration{0, -1} {
		store := new(checkpoint.Memory)
		var a atomic.Int32
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("b", "{}", "2")), scripted.Text("done")),
			stored(store), approving(orchestrator.ApprovalConfig{}), with(counted("a", &a), echo("b")),
			func(c *orchestrator.Config) { c.Lease = lease })
		res := ran(t, o, task("go"))
		for e := range o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true})) {
			if e.Kind == machine.EventToolStarted {
				_, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[1].ID, Approve: true})))
				require.ErrorIs(t, err, checkpoint.ErrConflict)
			}
		}
		require.EqualValues(t, 1, a.Load())
		res = goOn(t, o, "r", machine.Reply{WaitID: res.Waits[1].ID, Approve: true})
		require.Equal(t, machine.StatusDone, res.Status)
		require.EqualValues(t, 1, a.Load())
	}
}

// A tool that waits in a way of its own is told of as one that asks.
func TestResume_toolThatWaits(t *testing.T) {
	own := tools.NewRaw(tools.Definition{Name: "own"}, func(context.Context, string) (string, error) { return "", tools.ErrSuspended })
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("own", "{}", "1"))), with(own), stored(new(checkpoint.Memory)))
	events, err := all(t, o.Stream(t.Context(), task("go")))
	require.NoError(t, err)
	n := 0
	for _, e := range events {
		if e.Kind == machine.EventWaitStarted {
			n++
		}
	}
	require.Equal(t, 1, n)
}
