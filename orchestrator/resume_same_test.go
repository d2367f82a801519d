package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// bounds is what a run is told of its bounds from a place on.
type bounds struct {
	Wait     machine.Wait
	Limits   delegation.Limits
	Left     delegation.Limits
	Counts   delegation.Counts
	Tainted  bool
	Messages messages.History
	Offered  map[int][]string // the names of the tools, by the number of results before
	Judged   map[string]bool  // whether the argument came from outside, by the call
}

// boundedBy builds a server. Other is one whose Config says something else of everything.
func boundedBy(t *testing.T, store checkpoint.Store, seen *bounds, other bool) *orchestrator.Orchestrator {
	t.Helper()
	client := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		n := 0
		for _, m := range req.Messages {
			if _, ok := m.(messages.Tool); ok {
				n++
			}
		}
		for _, d := range req.Tools {
			seen.Offered[n] = append(seen.Offered[n], d.Name)
		}
		names := []string{"fetch", "pay", "pay"}
		if n == len(names) {
			return &llmclient.Response{Message: messages.AssistantText("done"), Usage: messages.Usage{Input: 3, Output: 2, Total: 5}}, nil
		}
		call := messages.ToolCall{ID: string(rune('a' + n)), Name: names[n], Arguments: "{}"}
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}, Usage: messages.Usage{Input: 10, Output: 5, Total: 15}}, nil
	})
	fetch := tools.NewRaw(tools.Definition{Name: "fetch", ReadOnly: true, Untrusted: true}, func(context.Context, string) (string, error) { return "from outside", nil })
	return solver(t, client, with(fetch, echo("pay"), echo("delete")), stored(store), func(c *orchestrator.Config) {
		ask := func(r machine.ApprovalRequest) machine.Verdict {
			seen.Judged[r.Call.ID] = r.Untrusted
			if r.Call.ID == "b" {
				return machine.VerdictAsk
			}
			return machine.VerdictAllow
		}
		c.Approve = &orchestrator.ApprovalConfig{Expires: time.Hour, Default: ask}
		c.Limits = delegation.Limits{Steps: 40, ModelCalls: 20, TotalTokens: 1000}
		if other {
			c.Approve.Expires, c.Limits = 5*time.Hour, delegation.Limits{Steps: 4, ModelCalls: 2, TotalTokens: 20}
			c.Tools = append(c.Tools, echo("fresh"))
		}
	})
}

// finish goes on with a run to its end, by an approval.
func (b *bounds) finish(t *testing.T, o *orchestrator.Orchestrator, res orchestrator.Result) {
	t.Helper()
	if res.Status == machine.StatusWaiting {
		b.Wait = res.Waits[0]
		var err error
		res, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: b.Wait.ID, Approve: true})))
		require.NoError(t, err)
	}
	require.Equal(t, machine.StatusDone, res.Status, "%v", res.Output.Err)
	b.Limits, b.Left, b.Counts, b.Tainted = res.Limits, res.Left, res.Output.Counts, res.Output.Untrusted
	for _, m := range res.Output.Messages {
		if out, ok := m.(messages.Tool); ok {
			out.Elapsed = 0
			m = out
		}
		b.Messages = append(b.Messages, m)
	}
}

// What bounds a run comes back as it was, wherever its process died, in a server that is configured
// otherwise: limits and what is left of them, the tools that it may use, what came from outside,
// when a wait ends, and that an approval was given.
func TestResume_boundsAsTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newBounds := func() *bounds { return &bounds{Offered: map[int][]string{}, Judged: map[string]bool{}} }
		want, whole := newBounds(), new(checkpoint.Memory)
		o := boundedBy(t, whole, want, false)
		ta := task("go")
		ta.Tools, ta.Limits.Steps = []string{"fetch", "pay"}, 30
		res, err := o.Run(t.Context(), ta)
		require.NoError(t, err)
		require.Equal(t, machine.StatusWaiting, res.Status)
		want.finish(t, o, res)
		require.True(t, want.Tainted)
		require.True(t, want.Judged["c"])
		require.Equal(t, []string{"fetch", "pay"}, want.Offered[0])
		require.Equal(t, 30, want.Limits.Steps)

		last := headOf(t, whole, "r").Last
		require.Greater(t, last, 8)
		waits := 0
		for cut := 1; cut < last; cut++ {
			got, left := newBounds(), died(t, whole, cut, time.Nanosecond)
			time.Sleep(time.Second)
			o := boundedBy(t, left, got, true)
			res, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
			require.NoError(t, err, "cut behind %d", cut)
			if res.Status == machine.StatusWaiting && res.Waits[0].Expires.Equal(want.Wait.Expires) {
				waits++
			}
			got.finish(t, o, res)
			require.Equal(t, want.Limits, got.Limits, "cut behind %d", cut)
			require.Equal(t, want.Left, got.Left, "cut behind %d", cut)
			require.Equal(t, want.Counts, got.Counts, "cut behind %d", cut)
			require.Equal(t, want.Tainted, got.Tainted, "cut behind %d", cut)
			require.Equal(t, want.Messages, got.Messages, "cut behind %d", cut)
			for n, names := range got.Offered {
				require.Equal(t, want.Offered[n], names, "cut behind %d", cut)
			}
			for call, untrusted := range got.Judged {
				require.Equal(t, want.Judged[call], untrusted, "cut behind %d", cut)
			}
			if got.Wait.ID != "" {
				require.Equal(t, want.Wait.Untrusted, got.Wait.Untrusted)
			}
		}
		require.Positive(t, waits, "a wait that was stored ends when it was to end")
	})
}
