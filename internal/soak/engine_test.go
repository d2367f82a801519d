package soak

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// Another engine drives a run over a real store, by turns in two processes. No loop takes it, a
// call whose end is unclear is not made again by the process that began it, and the lease ends with
// the run.
func TestEngine(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			name := newStore(t, kind)
			var paid atomic.Int32
			pay := tools.NewRaw(tools.Definition{Name: "pay"}, func(context.Context, string) (string, error) {
				paid.Add(1)
				return "paid", nil
			})
			open := func() *orchestrator.Orchestrator {
				store, closer, err := openStore(t.Context(), name)
				require.NoError(t, err)
				t.Cleanup(func() { closeQuietly(closer) })
				replies := scripted.Func(func(req *llmclient.Request) scripted.Reply {
					if _, ok := req.Messages.Last().(messages.Tool); ok {
						return scripted.Text("done")
					}
					return scripted.Calls(scripted.Call("pay", "{}", "1"))
				})
				replies.Times = -1
				o, err := orchestrator.New(orchestrator.Config{
					Client: scripted.New(replies), Store: store, Tools: []tools.Tool{pay}, Lease: time.Second,
					Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
				})
				require.NoError(t, err)
				return o
			}
			one, other := open(), open()
			s, err := one.Begin(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}})
			require.NoError(t, err)
			s, err = other.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
			require.NoError(t, err)
			before := s

			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, one.Recover(ctx, orchestrator.Recovery{}), context.DeadlineExceeded)
			s, err = one.Standing(t.Context(), s.Key)
			require.NoError(t, err)
			require.Equal(t, before.Records, s.Records)

			s, err = one.Continue(t.Context(), s.Key, orchestrator.Continuation{Unclear: true, Epoch: s.Epoch})
			require.NoError(t, err)
			late, err := other.Step(t.Context(), s.Key, before.Effects[0].ID, before.Epoch, nil)
			require.NoError(t, err)
			require.Equal(t, s.Records, late.Records)
			require.Zero(t, paid.Load())
			s, err = other.Continue(t.Context(), s.Key, orchestrator.Continuation{Replies: []machine.Reply{{WaitID: s.Waits[0].ID, Approve: true}}})
			for _, o := range []*orchestrator.Orchestrator{one, other} {
				require.NoError(t, err)
				s, err = o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
			}
			require.NoError(t, err)
			require.Equal(t, machine.StatusDone, s.Status)
			require.EqualValues(t, 1, paid.Load())
			head, err := one.Head(t.Context(), s.Key)
			require.NoError(t, err)
			require.Zero(t, head.Lease)
		})
	}
}
