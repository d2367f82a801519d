package orchestrator_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/tools"
)

// recordsIn returns the records of a run.
func recordsIn(t *testing.T, store checkpoint.Store, run string) (list []machine.Record) {
	t.Helper()
	for stored, err := range store.Read(t.Context(), checkpoint.Key{Run: run}, 1) {
		require.NoError(t, err)
		rec, err := machine.ReadRecord(stored.Data)
		require.NoError(t, err)
		list = append(list, rec)
	}
	return list
}

// placeOf returns the place of the last record that is so.
func placeOf[R machine.Record](t *testing.T, list []machine.Record, is func(R) bool) int {
	t.Helper()
	for i, rec := range slices.Backward(list) {
		if r, ok := rec.(R); ok && is(r) {
			return i + 1
		}
	}
	require.Fail(t, "there is no such record")
	return 0
}

func any1[R machine.Record](R) bool { return true }

// goOn resumes a run to its end.
func goOn(t *testing.T, o *orchestrator.Orchestrator, run string, replies ...machine.Reply) orchestrator.Result {
	t.Helper()
	res, err := orchestrator.Collect(o.Resume(t.Context(), resuming(run, replies...)))
	require.NoError(t, err)
	return res
}

func fork(t *testing.T, o *orchestrator.Orchestrator, how runs.ForkConfig) checkpoint.Head {
	t.Helper()
	head, err := runs.Fork(t.Context(), o, how)
	require.NoError(t, err)
	return head
}

// A run is forked at the answer of a tool, which is another one in the fork. The model is asked
// anew from there, and the first run stays as it is.
func TestFork_editedAnswer(t *testing.T) {
	store := new(checkpoint.Memory)
	model := scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Text("old"), scripted.Text("new"))
	o := solver(t, model, stored(store), with(echo("look")))
	res := ran(t, o, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}, Labels: map[string]string{"team": "a"}})
	before := recordsIn(t, store, "r")
	at := placeOf(t, before, func(a machine.Answered) bool { return a.Kind == machine.EffectTool })

	head, err := runs.Fork(t.Context(), o, runs.ForkConfig{
		From: checkpoint.Key{Run: "r"}, At: at, Run: "f", Answer: nextstep.ToolResult{Output: messages.ToolOutput{Output: "something else"}},
	})
	require.NoError(t, err)
	require.Equal(t, checkpoint.Key{Run: "f"}, head.Key)
	require.Equal(t, checkpoint.Origin{Run: "r", Record: at - 1}, head.Header.Origin)
	require.Equal(t, checkpoint.StatusParked, head.Header.Status, "nobody goes on with it unasked")
	require.Equal(t, map[string]string{"team": "a"}, head.Header.Labels)
	require.Equal(t, at, head.Last)

	forked := goOn(t, o, "f")
	require.Equal(t, "old", res.Output.Text())
	require.Equal(t, "new", forked.Output.Text())
	requests := model.Requests()
	require.Equal(t, "something else", requests[2].Messages.Last().(messages.Tool).Output)
	require.Equal(t, before, recordsIn(t, store, "r"))
	require.Equal(t, machine.StatusDone, goOn(t, o, "r").Status)
}

// Another input is another run; another reply of a model is told by whoever forks.
func TestFork_editedInputAndReply(t *testing.T) {
	store := new(checkpoint.Memory)
	model := scripted.New(scripted.Text("one"), scripted.Text("two"))
	o := solver(t, model, stored(store))
	ran(t, o, task("first"))
	from := checkpoint.Key{Run: "r"}

	head := fork(t, o, runs.ForkConfig{From: from, Run: "f", Input: &delegation.Input{Goal: "second"}})
	require.Equal(t, 1, head.Last)
	require.Equal(t, "two", goOn(t, o, "f").Output.Text())
	require.Equal(t, "second", model.Requests()[1].Messages.Last().(messages.User).Text())

	said := nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("what it should have said")}}
	head = fork(t, o, runs.ForkConfig{From: from, At: 2, Answer: said, Labels: map[string]string{"eval": "1"}})
	require.NotEmpty(t, head.Key.Run)
	require.Equal(t, checkpoint.StatusDone, head.Header.Status, "that was its last step")
	require.Equal(t, map[string]string{"eval": "1"}, head.Header.Labels)
	res := goOn(t, o, head.Key.Run)
	require.Equal(t, "what it should have said", res.Output.Text())
	require.Len(t, model.Requests(), 2)
}

// A fork carries no approvals: a call that was approved and has no result by then is asked about
// again, under an id of its own. One that has its result is history.
func TestFork_carriesNoApprovals(t *testing.T) {
	store := new(checkpoint.Memory)
	var paid atomic.Int32
	model := scripted.New(scripted.Calls(scripted.Call("pay", `{"n":1}`, "1")), scripted.Text("paid"), scripted.Text("paid in the fork"), scripted.Text("paid again"))
	o := solver(t, model, stored(store), approving(orchestrator.ApprovalConfig{}), with(counted("pay", &paid)))
	res := ran(t, o, task("go"))
	wait := res.Waits[0]
	require.Equal(t, machine.StatusDone, goOn(t, o, "r", machine.Reply{WaitID: wait.ID, Approve: true}).Status)
	require.EqualValues(t, 1, paid.Load())
	list := recordsIn(t, store, "r")
	approval := placeOf(t, list, any1[machine.Replied])
	result := placeOf(t, list, func(a machine.Answered) bool { return a.Kind == machine.EffectTool })
	require.Greater(t, result, approval+1, "the intent of the call stands between")

	for at := approval; at < result; at++ {
		head := fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: at})
		require.Equal(t, approval-1, head.Header.Origin.Record)
		require.Equal(t, checkpoint.StatusWaiting, head.Header.Status)
		require.Len(t, head.Header.Waits, 1)
		require.NotEqual(t, wait.ID, head.Header.Waits[0].ID)
		require.Equal(t, machine.WaitApproval, head.Header.Waits[0].Kind)
		_, err := orchestrator.Collect(o.Resume(t.Context(), resuming(head.Key.Run, machine.Reply{WaitID: wait.ID, Approve: true})))
		require.ErrorAs(t, err, new(*machine.ReplyError), "the approval of the other run fits nothing here")
		require.EqualValues(t, 1, paid.Load())
	}
	head := fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: result})
	require.Equal(t, result, head.Header.Origin.Record)
	require.Equal(t, "paid in the fork", goOn(t, o, head.Key.Run).Output.Text())
	require.EqualValues(t, 1, paid.Load())

	// Whoever forks may say yes or no himself.
	head = fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: approval, Reply: &machine.Reply{Approve: true}})
	require.Equal(t, "paid again", goOn(t, o, head.Key.Run).Output.Text())
	require.EqualValues(t, 2, paid.Load())
}

// An approval stands before an answer that is edited: the fork would carry it.
func TestFork_editBehindAnApproval(t *testing.T) {
	store := new(checkpoint.Memory)
	var paid atomic.Int32
	model := scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1"), question("Which?", "2")))
	o := solver(t, model, stored(store), approving(orchestrator.ApprovalConfig{}), with(tools.AskUser(), counted("pay", &paid)),
		func(c *orchestrator.Config) { c.Parallel = 1 })
	res := ran(t, o, task("go"))
	require.Len(t, res.Waits, 2)
	list := recordsIn(t, store, "r")
	journal := []machine.Record{ // both answered at once, and then the process died
		machine.Replied{At: res.Waits[0].Expires.Add(-1), Reply: machine.Reply{WaitID: res.Waits[0].ID, Approve: true}},
		machine.Replied{At: res.Waits[0].Expires.Add(-1), Reply: machine.Reply{WaitID: res.Waits[1].ID, Text: "that"}},
	}
	for i, rec := range journal {
		data, err := machine.AppendRecord(nil, rec)
		require.NoError(t, err)
		require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
			Key: checkpoint.Key{Run: "r"}, Epoch: 9, Writer: "w", Records: []checkpoint.Record{{Seq: len(list) + i + 1, Type: "replied", Data: data}},
		}))
	}
	at := len(list) + 2
	_, err := runs.Fork(t.Context(), o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: at, Run: "f", Reply: &machine.Reply{Text: "this"}})
	refused := new(runs.Error)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, at-1, refused.Record)
	require.ErrorContains(t, err, "carries no approvals")
	require.Equal(t, []string{"r"}, runsIn(t, store))

	head := fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, Run: "f"})
	require.Equal(t, len(list), head.Header.Origin.Record, "both replies are behind the cut")
	require.Len(t, head.Header.Waits, 2)
}

// What a tool has asked, and what was answered, is the fork's own: the questions have other ids.
func TestFork_questions(t *testing.T) {
	store := new(checkpoint.Memory)
	model := scripted.New(scripted.Calls(question("Which file?", "1")), scripted.Text("first"), scripted.Text("second"))
	o := solver(t, model, stored(store), with(tools.AskUser()))
	res := ran(t, o, task("go"))
	goOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "a.txt"})
	at := placeOf(t, recordsIn(t, store, "r"), any1[machine.Replied])

	head := fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: at, Run: "f", Reply: &machine.Reply{Text: "b.txt"}})
	require.Equal(t, at-1, head.Header.Origin.Record)
	end := goOn(t, o, "f")
	require.Equal(t, "second", end.Output.Text())
	require.Equal(t, "b.txt", end.Output.ToolMetas()[0].Output)

	fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "f"}, At: at - 1, Run: "g"})
	waits := headOf(t, store, "g").Header.Waits
	require.Len(t, waits, 1)
	require.NotEqual(t, res.Waits[0].ID, waits[0].ID)
}

func TestFork_refused(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("one")), stored(store))
	ran(t, o, task("first"))
	from := checkpoint.Key{Run: "r"}
	said := nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("x")}}
	for name, test := range map[string]struct {
		how  runs.ForkConfig
		want string
	}{
		"no such record":     {runs.ForkConfig{From: from, At: 3}, "it has 2 records"},
		"before the first":   {runs.ForkConfig{From: from, At: -1}, "counted from 1"},
		"two edits":          {runs.ForkConfig{From: from, Input: new(delegation.Input), Answer: said}, "at most one"},
		"an input there":     {runs.ForkConfig{From: from, At: 2, Input: new(delegation.Input)}, `type "answered"`},
		"an answer there":    {runs.ForkConfig{From: from, At: 1, Answer: said}, `type "started"`},
		"a reply there":      {runs.ForkConfig{From: from, At: 2, Reply: new(machine.Reply)}, `type "answered"`},
		"a wrong answer":     {runs.ForkConfig{From: from, At: 2, Answer: nextstep.ToolResult{}}, "answers another kind"},
		"an impossible call": {runs.ForkConfig{From: from, At: 2, Answer: nextstep.APIResponse{}}, "no response"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runs.Fork(t.Context(), o, test.how)
			require.ErrorAs(t, err, new(*runs.Error))
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := runs.Fork(t.Context(), o, runs.ForkConfig{From: from, Run: "r"})
	require.ErrorAs(t, err, new(*orchestrator.RunExistsError))
	_, err = runs.Fork(t.Context(), o, runs.ForkConfig{From: checkpoint.Key{Run: "nobody"}})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = runs.Fork(t.Context(), o, runs.ForkConfig{From: from, Run: "\x00"})
	require.ErrorAs(t, err, new(*orchestrator.ConfigError))
	_, err = runs.Fork(t.Context(), solver(t, scripted.New()), runs.ForkConfig{From: from})
	require.ErrorAs(t, err, new(*orchestrator.ConfigError))
	require.Equal(t, []string{"r"}, runsIn(t, store))
}
