package orchestrator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
)

// The file of a run that was carried over a change of code lets no agent work either: without the
// record of the change the run cannot be imported, and the refusal names the record that allows
// too much.
// What the policy here allows, what the caller takes over, and what has ended is imported.
func TestImport_migrated(t *testing.T) {
	of := func(p machine.ApprovalPolicy) func(*orchestrator.Config) {
		return approving(orchestrator.ApprovalConfig{Default: machine.AllowAlways, Tools: map[string]machine.ApprovalPolicy{"clerk": p, "pay": machine.AskAlways}})
	}
	b := &bank{t: t, store: new(checkpoint.Memory)}
	wait := b.waiting()
	before := exported(t, b.program(1), keyOfRun)
	goOn(t, b.program(2, migrating), "r", machine.Reply{WaitID: wait, Approve: true})
	whole := exported(t, b.program(2), keyOfRun)
	migrated := placeOf(t, recordsIn(t, b.store, "r"), any1[machine.Migrated])
	replied := placeOf(t, recordsIn(t, b.store, "r"), any1[machine.Replied])
	edits := []func(*orchestrator.Config){migrating}
	imported := func(file string, policy machine.ApprovalPolicy, how ...runs.ImportOption) (checkpoint.Head, error) {
		return runs.Import(t.Context(), (&bank{t: t, store: new(checkpoint.Memory)}).program(2, append(edits, of(policy))...), strings.NewReader(file), how...)
	}
	for n := migrated; n <= replied+1; n++ {
		file := firstRecords(whole, n)
		for _, policy := range []machine.ApprovalPolicy{machine.AskAlways, machine.AllowNever} {
			_, err := imported(file, policy)
			require.ErrorContains(t, err, "record 6 approves or allows a call that has no result, and without that the run cannot be imported")
			head, err := imported(file, policy, runs.WithApprovals())
			require.NoError(t, err)
			require.Equal(t, n, head.Last)
		}
		head, err := imported(file, machine.AllowAlways)
		require.NoError(t, err)
		require.Equal(t, min(n, replied-1), head.Last, "the payment is asked about again")
	}
	_, err := imported(before, machine.AskAlways)
	require.ErrorContains(t, err, `no strategy "planner"`)
	head, err := imported(whole, machine.AskAlways)
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusDone, head.Header.Status)

	edits = append(edits, func(c *orchestrator.Config) { // a program that has the old strategy, too
		c.Strategies["planner"] = func() strategy.Strategy { return &plan{fsm: planTable("working").New(nil), version: 1} }
	})
	for _, file := range []string{before, firstRecords(whole, migrated), firstRecords(whole, replied+1)} {
		head, err := imported(file, machine.AskAlways)
		require.NoError(t, err)
		require.Equal(t, 2, head.Last, "it ends before the agent was allowed")
	}
}
