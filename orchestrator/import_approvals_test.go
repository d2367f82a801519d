package orchestrator_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// An import carries no approvals: a call that was approved and has no result in the file is asked
// about again. One that has its result is history. Whoever says so takes all over as it is.
func TestImport_carriesNoApprovals(t *testing.T) {
	var paid atomic.Int32
	build := func(store checkpoint.Store, replies ...scripted.Reply) *orchestrator.Orchestrator {
		return solver(t, scripted.New(replies...), stored(store), approving(orchestrator.ApprovalConfig{}), with(counted("pay", &paid)))
	}
	here := new(checkpoint.Memory)
	o := build(here, scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("paid"))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	yes := orchestrator.Reply{WaitID: res.Waits[0].ID, Approve: true}
	require.Equal(t, orchestrator.StatusDone, goOn(t, o, "r", yes).Status)
	list := recordsIn(t, here, "r")
	approval := placeOf(t, list, any1[machine.Replied])
	result := placeOf(t, list, func(a machine.Answered) bool { return a.Kind == machine.EffectTool })
	require.Greater(t, result, approval+1, "the intent of the call stands between")
	whole := exported(t, o, keyOfRun)

	paid.Store(0)
	for at := approval; at < result; at++ {
		file := firstRecords(whole, at)
		store := new(checkpoint.Memory)
		head, err := build(store).Import(t.Context(), strings.NewReader(file))
		require.NoError(t, err)
		require.Equal(t, approval-1, head.Last)
		require.Equal(t, checkpoint.StatusWaiting, head.Header.Status)
		require.Equal(t, []checkpoint.Wait{{ID: yes.WaitID, Kind: orchestrator.WaitApproval, Expires: res.Waits[0].Expires}}, head.Header.Waits)
		require.Equal(t, orchestrator.StatusWaiting, goOn(t, build(store), "r").Status)
		require.Zero(t, paid.Load())
		require.Equal(t, "paid", goOn(t, build(store, scripted.Text("paid")), "r", yes).Output.Text())
		require.EqualValues(t, 1, paid.Swap(0))

		head, err = build(new(checkpoint.Memory)).Import(t.Context(), strings.NewReader(file), orchestrator.WithApprovals())
		require.NoError(t, err)
		require.Equal(t, at, head.Last)
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
	}
	store := new(checkpoint.Memory)
	head, err := build(store).Import(t.Context(), strings.NewReader(firstRecords(whole, result)))
	require.NoError(t, err)
	require.Equal(t, result, head.Last)
	require.Equal(t, "paid", goOn(t, build(store, scripted.Text("paid")), "r").Output.Text())
	require.Zero(t, paid.Load())
}

// firstRecords is the file of a run with so many of its records.
func firstRecords(file string, n int) string {
	lines := strings.Split(file, "\n")
	return strings.TrimSuffix(strings.Join(lines[:n+1], "\n"), ",") + "\n]}\n"
}
