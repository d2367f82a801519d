package orchestrator_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// An answer of Config.Reply to another wait than the one it was asked about approves nothing: the
// run is suspended, says why, and can be resumed with the right answer.
func TestReply_toAnotherWait(t *testing.T) {
	yes := func(id string) func(machine.Wait) (machine.Reply, error) {
		return func(machine.Wait) (machine.Reply, error) {
			return machine.Reply{WaitID: id, Approve: true, Text: "yes"}, nil
		}
	}
	var effects atomic.Int32
	build := func(edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
		edit = append(edit, with(counted("pay", &effects), tools.AskUser()), approving(orchestrator.ApprovalConfig{}))
		return solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1"), question("A?", "2")), scripted.Text("done")), edit...)
	}
	res, err := build(replying(yes("of somebody else"))).Run(t.Context(), task("go"))
	var lost *orchestrator.UnansweredError
	require.ErrorAs(t, err, &lost)
	var refused *machine.ReplyError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "of somebody else", refused.WaitID)
	require.ErrorContains(t, err, `cannot be taken: Config.Reply was asked about the wait "`+res.Waits[0].ID+`"`)
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Len(t, res.Waits, 2, "the question as well as the approval")

	store := new(checkpoint.Memory)
	res, err = build(replying(yes("of somebody else")), stored(store)).Run(t.Context(), task("go"))
	require.ErrorAs(t, err, &refused)
	require.False(t, errors.As(err, &lost), "it can be resumed")
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Zero(t, effects.Load())

	o := solver(t, scripted.New(scripted.Text("done")), with(counted("pay", &effects), tools.AskUser()), approving(orchestrator.ApprovalConfig{}), stored(store))
	res = goOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true}, machine.Reply{WaitID: res.Waits[1].ID, Text: "yes"})
	require.Equal(t, "done", res.Output.Text())
	require.EqualValues(t, 1, effects.Load())

	same := func(w machine.Wait) (machine.Reply, error) {
		return machine.Reply{WaitID: w.ID, Approve: true, Text: "yes"}, nil
	}
	_, err = build(replying(same)).Run(t.Context(), task("go"))
	require.NoError(t, err, "its own id is right")
	require.EqualValues(t, 2, effects.Load())
}

// An error of Config.Reply is not lost: the event that ends the wait tells it, of approvals and of
// questions.
func TestReply_errorIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		reply func(machine.Wait) (machine.Reply, error)
		want  *delegation.Error
	}{
		"error": {func(machine.Wait) (machine.Reply, error) {
			return machine.Reply{}, errors.New("the mailbox is full")
		}, &delegation.Error{Code: delegation.CodeFailed, Message: "the mailbox is full"}},
		"panic": {
			func(machine.Wait) (machine.Reply, error) { panic("secret") },
			&delegation.Error{Code: delegation.CodePanic, Message: "orchestrator: Config.Reply panicked with a string"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var effects atomic.Int32
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1"), question("A?", "2")), scripted.Text("done")),
				with(counted("pay", &effects), tools.AskUser()), approving(orchestrator.ApprovalConfig{}), replying(tt.reply))
			events := watched(t, o, task("go"))
			n := 0
			for _, d := range details[machine.WaitEnded](events) {
				n++
				require.Nil(t, d.Reply)
				require.Equal(t, tt.want, &delegation.Error{Code: d.Err.Code, Message: d.Err.Message})

			}
			require.Equal(t, 2, n)
			require.Zero(t, effects.Load())
		})
	}
}

// Whoever answers all that is asked is not refused because of what comes of the first reply: a wait
// that it closes needs none. Other replies are as wrong as ever.
func TestResume_replyToWaitThatAnotherClosed(t *testing.T) {
	for name, limits := range map[string]delegation.Limits{"model calls": {ModelCalls: 1}, "steps": {Steps: 2}} {
		t.Run(name, func(t *testing.T) {
			var paid atomic.Int32
			store := new(checkpoint.Memory)
			asks := worker(func(a *orchestrator.Agent) { a.Definition.NeedsApproval = true })
			calls := scripted.Calls(scripted.Call("worker", `{"goal":"work"}`, "1"), scripted.Call("pay", "{}", "2"), question("A?", "3"))
			o := solver(t, scripted.New(calls, scripted.Text("worked")), withWork, stored(store), with(asks, counted("pay", &paid, tools.Definition{Name: "pay", NeedsApproval: true}), tools.AskUser()))
			ta := task("go")
			ta.Limits = limits
			res := ran(t, o, ta)
			require.Len(t, res.Waits, 3)
			var replies []machine.Reply
			for _, w := range res.Waits {
				replies = append(replies, machine.Reply{WaitID: w.ID, Approve: true, Text: "yes"})
			}
			for _, wrong := range [][]machine.Reply{
				{replies[0], replies[1], {WaitID: "another"}},
				{replies[0], replies[0]},
				{{WaitID: "another"}, replies[0], replies[1]},
			} {
				_, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r", wrong...)))
				require.ErrorAs(t, err, new(*machine.ReplyError))
				require.Equal(t, checkpoint.StatusWaiting, headOf(t, store, "r").Header.Status)
			}
			res, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r", replies...)))
			require.NotErrorAs(t, err, new(*machine.ReplyError))
			require.Equal(t, machine.StatusLimit, res.Status)
			require.Equal(t, checkpoint.StatusLimit, headOf(t, store, "r").Header.Status)
			require.Zero(t, paid.Load())
			_, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r", replies...)))
			require.ErrorContains(t, err, "the run has ended")
		})
	}
}
