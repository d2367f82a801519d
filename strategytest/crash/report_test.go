package crash_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/crash"
)

// The report counts by kind what it counts in all, and says how the run ends.
func TestReport_kinds(t *testing.T) {
	c := of(strategy.Set{"main": worker}, every, scripted.Calls(call("c1", "pay"), call("c2", "look")), scripted.Text("done"))
	c.Pairs = prove.CasesOr(2)
	r := crash.Try(t, c)
	require.Empty(t, r.Problems)
	require.Equal(t, machine.StatusDone, r.Status)
	require.Equal(t, "done", r.Output.Text())
	all := map[string]crash.Tried{}
	var sum crash.Tried
	for _, k := range r.Kinds {
		all[k.Kind] = k
		sum.Boundaries += k.Boundaries
		sum.Cuts += k.Cuts
		sum.Frozen += k.Frozen
		sum.Pairs += k.Pairs
	}
	require.Equal(t, crash.Tried{Boundaries: r.Boundaries, Cuts: r.Cuts, Frozen: r.Frozen, Pairs: r.Pairs}, sum)
	require.Equal(t, 4, all["request"].Boundaries, "before and after each of two")
	require.Equal(t, 4, all["call"].Boundaries)
	require.Equal(t, 4, all["call"].Frozen)
	for _, kind := range []string{"append", "event"} {
		require.Positive(t, all[kind].Cuts, kind)
	}
}

// Calls that are refused, by a policy or a person, are judged alike wherever the run is cut off.
func TestCrash_refused(t *testing.T) {
	for name, verdict := range map[string]machine.Verdict{"by a policy": machine.VerdictRefuse, "by a person": machine.VerdictAsk} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := of(strategy.Set{"main": worker}, every, scripted.Calls(call("c1", "pay")), scripted.Text("done"))
			c.Person = func(machine.Wait) machine.Reply { return machine.Reply{Reason: "it is dear"} }
			c.Pairs = prove.CasesOr(1)
			made := c.Config
			c.Config = func() orchestrator.Config {
				cfg := made()
				cfg.Approve = &orchestrator.ApprovalConfig{Default: func(r machine.ApprovalRequest) machine.Verdict {
					if r.Strategy == "main" {
						return verdict
					}
					return machine.VerdictAllow
				}}
				return cfg
			}
			crash.Test(t, c.Every(prove.DepthOr(7, 1)))
		})
	}
}
