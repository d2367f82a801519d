package orchestrator_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A process that begins a run each two minutes, of which each waits for ten minutes or for a reply,
// and deletes what has ended, holds after 24 hours what it held after one.
func TestRecover_day(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		later := tools.NewRaw(tools.Definition{Name: "later"}, func(ctx context.Context, _ string) (string, error) {
			return "later", tools.WaitUntil(ctx, time.Now().Add(10*time.Minute), "later")
		})
		client := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
			reply := messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "done"}}}
			if len(req.Messages) == 1 {
				reply.Content = []messages.AssistantContent{scripted.Call("later", "{}", "1"), scripted.Call("risky", "{}", "2")}
			}
			return &llmclient.Response{Message: reply}, nil
		})
		o := solver(t, client, stored(store), with(later, echo("risky")), approving(orchestrator.ApprovalConfig{}))
		r := startRecover(t, o, orchestrator.Recovery{})
		hour := func(n int) (goroutines int, heap uint64) {
			for i := range 30 {
				res := ran(t, o, orchestrator.Task{Run: fmt.Sprint(n, "-", i), Input: delegation.Input{Goal: "go"}})
				require.Equal(t, machine.StatusWaiting, res.Status)
				for _, w := range res.Waits {
					if w.Kind == machine.WaitApproval {
						require.NoError(t, o.Answer(t.Context(), checkpoint.Key{Run: res.Run}, machine.Reply{WaitID: w.ID, Approve: true}))
					}
				}
				time.Sleep(2 * time.Minute)
			}
			time.Sleep(15 * time.Minute)
			require.Equal(t, machine.StatusDone, r.end(fmt.Sprint(n, "-", 29)).Status)
			deleted, err := checkpoint.Prune(t.Context(), store, checkpoint.Retention{Ended: time.Second})
			require.NoError(t, err)
			require.Equal(t, 30, deleted)
			r.forget()
			synctest.Wait()
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return inBubble(), m.HeapAlloc
		}
		goroutines, heap := hour(0)
		require.Positive(t, goroutines)
		for n := 1; n < 20; n++ { // of 75 minutes
			after, now := hour(n)
			require.Equal(t, goroutines, after)
			require.Less(t, int64(now)-int64(heap), int64(256<<10))
		}
	})
}

// inBubble returns how many goroutines synctest's bubble holds. Those outside of it, such as one
// that runs finalizers, come and go on their own.
func inBubble() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble "))
}
