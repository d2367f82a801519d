package orchestrator_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
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
	res := ran(t, o, task("go"))
	yes := machine.Reply{WaitID: res.Waits[0].ID, Approve: true}
	require.Equal(t, machine.StatusDone, goOn(t, o, "r", yes).Status)
	list := recordsIn(t, here, "r")
	approval := placeOf(t, list, any1[machine.Replied])
	result := placeOf(t, list, func(a machine.Answered) bool { return a.Kind == machine.EffectTool })
	require.Greater(t, result, approval+1, "the intent of the call stands between")
	whole := exported(t, o, keyOfRun)

	paid.Store(0)
	for at := approval; at < result; at++ {
		file := firstRecords(whole, at)
		store := new(checkpoint.Memory)
		head, err := runs.Import(t.Context(), build(store), strings.NewReader(file))
		require.NoError(t, err)
		require.Equal(t, approval-1, head.Last)
		require.Equal(t, checkpoint.StatusWaiting, head.Header.Status)
		require.Equal(t, []checkpoint.Wait{{ID: yes.WaitID, Kind: machine.WaitApproval, Expires: res.Waits[0].Expires}}, head.Header.Waits)
		require.Equal(t, machine.StatusWaiting, goOn(t, build(store), "r").Status)
		require.Zero(t, paid.Load())
		require.Equal(t, "paid", goOn(t, build(store, scripted.Text("paid")), "r", yes).Output.Text())
		require.EqualValues(t, 1, paid.Swap(0))

		head, err = runs.Import(t.Context(), build(new(checkpoint.Memory)), strings.NewReader(file), runs.WithApprovals())
		require.NoError(t, err)
		require.Equal(t, at, head.Last)
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
	}
	store := new(checkpoint.Memory)
	head, err := runs.Import(t.Context(), build(store), strings.NewReader(firstRecords(whole, result)))
	require.NoError(t, err)
	require.Equal(t, result, head.Last)
	require.Equal(t, "paid", goOn(t, build(store, scripted.Text("paid")), "r").Output.Text())
	require.Zero(t, paid.Load())
}

// No file allows an agent to work: where the policy of this process would ask or refuse, the import
// ends before the call, whether the file was changed or comes from under another policy. What the
// policy here allows, and an agent that has ended, is taken over.
func TestImport_agentsAreJudgedHere(t *testing.T) {
	of := func(p machine.ApprovalPolicy) func(*orchestrator.Config) {
		return approving(orchestrator.ApprovalConfig{Default: machine.AllowAlways, Tools: map[string]machine.ApprovalPolicy{"worker": p}})
	}
	asks, allows, never := of(machine.AskAlways), of(machine.AllowAlways), of(machine.AllowNever)
	withAsk := func(c *orchestrator.Config) {
		c.Strategies["work"] = completetask.New(completetask.Config{Tools: []string{tools.AskUserName}})
		c.Default = "solve"
	}
	build := func(store checkpoint.Store, policy func(*orchestrator.Config), asked *atomic.Int32) *orchestrator.Orchestrator {
		model := always(func(req *llmclient.Request) scripted.Reply {
			switch {
			case goalOf(req) == "work" && answered(req):
				return scripted.Text("worked")
			case goalOf(req) == "work":
				asked.Add(1)
				return scripted.Calls(question("Which?", "q"))
			case answered(req):
				return scripted.Text("done")
			default:
				return scripted.Calls(scripted.Call("worker", `{"goal":"work"}`, "1"))
			}
		})
		return solver(t, model, stored(store), policy, with(worker(), tools.AskUser()), withAsk)
	}
	var asked, here atomic.Int32
	store := new(checkpoint.Memory)
	ran(t, build(store, allows, &asked), task("go"))
	atWork := exported(t, build(store, allows, &asked), keyOfRun)
	open := headOf(t, store, "r")
	ended := goOn(t, build(store, allows, &asked), "r", machine.Reply{WaitID: open.Header.Waits[0].ID, Text: "a"})
	require.Equal(t, "done", ended.Output.Text())
	whole := exported(t, build(store, allows, &asked), keyOfRun)
	list := recordsIn(t, store, "r")
	allowed := placeOf(t, list, func(i machine.Intended) bool { return i.Tool == "worker" })

	store = new(checkpoint.Memory)
	ran(t, build(store, asks, &asked), task("go"))
	changed := strings.Replace(exported(t, build(store, asks, &asked), keyOfRun), `"verdict":"ask"`, `"verdict":"allow"`, 1)
	for name, file := range map[string]string{"another policy": atWork, "changed": changed} {
		t.Run(name, func(t *testing.T) {
			for _, policy := range []func(*orchestrator.Config){asks, never} {
				store, here := new(checkpoint.Memory), new(atomic.Int32)
				head, err := runs.Import(t.Context(), build(store, policy, here), strings.NewReader(file))
				require.NoError(t, err)
				require.Equal(t, allowed-1, head.Last)
				goOn(t, build(store, policy, here), "r")
				require.Zero(t, here.Load(), "the agent has not worked")
			}
			for _, how := range [][]runs.ImportOption{nil, {runs.WithApprovals()}} {
				policy := asks
				if how == nil {
					policy = allows
				}
				store := new(checkpoint.Memory)
				head, err := runs.Import(t.Context(), build(store, policy, &here), strings.NewReader(file), how...)
				require.NoError(t, err)
				require.GreaterOrEqual(t, head.Last, allowed)
				require.Equal(t, "Which?", goOn(t, build(store, policy, &here), "r").Waits[0].Text)
			}
		})
	}
	head, err := runs.Import(t.Context(), build(new(checkpoint.Memory), asks, &here), strings.NewReader(whole))
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusDone, head.Header.Status, "what has ended is history")
}

// firstRecords is the file of a run with so many of its records.
func firstRecords(file string, n int) string {
	lines := strings.Split(file, "\n")
	return strings.TrimSuffix(strings.Join(lines[:n+1], "\n"), ",") + "\n]}\n"
}
