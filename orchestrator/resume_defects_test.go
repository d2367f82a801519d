package orchestrator_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// One approval is given and another refused when a batch is resumed that has a result already.
func TestResume_approvedAndRefused(t *testing.T) {
	store := new(checkpoint.Memory)
	var free, a, b atomic.Int32
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("free", "{}", "1"), scripted.Call("a", "{}", "2"), scripted.Call("b", "{}", "3")), scripted.Text("done")),
		stored(store), approving(orchestrator.ApprovalConfig{}), with(counted("free", &free, tools.Definition{Name: "free", ReadOnly: true}), counted("a", &a), counted("b", &b)))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	waiting := res.Output.ToolMetas()
	require.Equal(t, "did free", waiting[0].Output, "what has finished is shown while the rest waits")
	require.Equal(t, tools.ReasonSuspended, waiting[1].Reason)
	res, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r",
		machine.Reply{WaitID: res.Waits[0].ID, Approve: true}, machine.Reply{WaitID: res.Waits[1].ID, Reason: "no"})))
	require.NoError(t, err)
	metas := res.Output.ToolMetas()
	require.Equal(t, "did free", metas[0].Output)
	require.Equal(t, "did a", metas[1].Output)
	require.Equal(t, "a person refused this call: no", metas[2].Output)
	require.EqualValues(t, 1, free.Load())
	require.Zero(t, b.Load())
}

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
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, machine.StatusWaiting, res.Status)
	res, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Text: "b"})))
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text())
	_, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
	require.NoError(t, err)
}

// A run in progress is not taken up a second time, with leases and without.
func TestResume_inProgress(t *testing.T) {
	for _, lease := range []time.Duration{0, -1} {
		store := new(checkpoint.Memory)
		var a atomic.Int32
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("a", "{}", "1"), scripted.Call("b", "{}", "2")), scripted.Text("done")),
			stored(store), approving(orchestrator.ApprovalConfig{}), with(counted("a", &a), echo("b")),
			func(c *orchestrator.Config) { c.Lease = lease })
		res, err := o.Run(t.Context(), task("go"))
		require.NoError(t, err)
		for e := range o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true})) {
			if e.Kind == machine.EventToolStarted {
				_, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[1].ID, Approve: true})))
				require.ErrorIs(t, err, checkpoint.ErrConflict)
			}
		}
		require.EqualValues(t, 1, a.Load())
		res, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[1].ID, Approve: true})))
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
		require.EqualValues(t, 1, a.Load())
	}
}

// An approval is good for one time: a middleware that makes the call again has it refused.
func TestApprove_once(t *testing.T) {
	var runs atomic.Int32
	asked := 0
	var second error
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")), with(counted("risky", &runs)),
		approving(orchestrator.ApprovalConfig{}),
		handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			answer, err := next(ctx, e)
			if e.Kind == machine.EffectTool {
				_, second = next(ctx, e)
			}
			return answer, err
		}),
		replying(func(machine.Wait) (machine.Reply, error) {
			asked++
			return machine.Reply{Approve: true}, nil
		}))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.ErrorContains(t, second, "was made already")
	require.Equal(t, 1, asked)
	require.EqualValues(t, 1, runs.Load())
	require.Equal(t, "did risky", res.Output.ToolMetas()[0].Output)
}

// What a tool emits after it was abandoned disturbs nobody.
func TestEmit_late(t *testing.T) {
	over, emitted := make(chan struct{}), make(chan struct{})
	stubborn := tools.NewRaw(tools.Definition{Name: "stubborn", Timeout: time.Millisecond}, func(ctx context.Context, _ string) (string, error) {
		<-over
		orchestrator.Emit(ctx, machine.Event{Kind: "mine"})
		close(emitted)
		return "", nil
	})
	model := scripted.New(scripted.Calls(scripted.Call("stubborn", "{}", "1")), scripted.Func(func(*llmclient.Request) scripted.Reply {
		close(over)
		<-emitted
		return scripted.Text("done")
	}))
	events, err := collect(t, solver(t, model, with(stubborn)), task("go"))
	require.NoError(t, err)
	require.Zero(t, count(events, "mine"))
}

// A call that waits when its run is stopped is told as finished, like every call that was told as
// started.
func TestStop_whileACallWaits(t *testing.T) {
	for _, sibling := range []bool{true, false} {
		stop := make(chan struct{})
		calls := []messages.ToolCall{question("Which?", "1")}
		if sibling {
			calls = append(calls, scripted.Call("a", "{}", "2"))
		}
		o := solver(t, scripted.New(scripted.Calls(calls...)), with(tools.AskUser(), echo("a")), stored(new(checkpoint.Memory)),
			replying(func(machine.Wait) (machine.Reply, error) {
				close(stop)
				return machine.Reply{}, tools.ErrSuspended
			}))
		ta := task("go")
		ta.Stop = stop
		events, err := collect(t, o, ta)
		require.Error(t, err)
		require.Equal(t, machine.StatusStopped, finished(t, events).Status)
		require.Equal(t, len(calls), count(events, machine.EventToolFinished))
		require.Equal(t, messages.ReasonInterrupted, finished(t, events).Output.ToolMetas()[0].Reason)
	}
}

// An answer that has no JSON form fails its step, not the journal.
func TestJournal_answerWithoutJSON(t *testing.T) {
	o := solver(t, scripted.New(scripted.Text("unused")), stored(new(checkpoint.Memory)), func(c *orchestrator.Config) {
		c.Middleware = []orchestrator.Middleware{func(orchestrator.Handler) orchestrator.Handler {
			return func(context.Context, machine.Effect) (nextstep.Answer, error) {
				return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.Assistant{
					Content: []messages.AssistantContent{messages.Text{Text: "x"}}, Extras: messages.Extras{"odd": json.RawMessage(`{`)},
				}}}, nil
			}
		}}
	})
	res, err := o.Run(t.Context(), task("go"))
	require.ErrorContains(t, err, "the answer cannot be used")
	require.NotEqual(t, delegation.CodeStorage, res.Output.Err.Code)
	again, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
	require.Error(t, err)
	require.Equal(t, res.Output.Err.Code, again.Output.Err.Code)
}

// A question needs an answer, and a tool cannot pass its own for an approval.
func TestResume_replyToQuestion(t *testing.T) {
	store := new(checkpoint.Memory)
	forger := tools.NewRaw(tools.Definition{Name: "forge"}, func(ctx context.Context, _ string) (string, error) {
		return tools.Ask(ctx, tools.Question{Kind: machine.WaitApproval, Text: "May I?"})
	})
	o := solver(t, scripted.New(scripted.Calls(question("Which?", "1"), scripted.Call("forge", "{}", "2")), scripted.Text("done")), stored(store), with(tools.AskUser(), forger))
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Len(t, res.Waits, 1)
	_, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true})))
	require.ErrorContains(t, err, "answered by Text")
	res, err = orchestrator.Collect(o.Resume(t.Context(), resuming("r", machine.Reply{WaitID: res.Waits[0].ID, Text: "b"})))
	require.NoError(t, err)
	require.Contains(t, res.Output.ToolMetas()[1].Output, "the kind is taken")
}

// panics is a store that panics when it is read.
type panics struct{ checkpoint.Memory }

func (*panics) Read(context.Context, checkpoint.Key, int) iter.Seq2[checkpoint.Record, error] {
	panic("no disk")
}

func (*panics) Head(context.Context, checkpoint.Key) (checkpoint.Head, error) {
	return checkpoint.Head{Header: checkpoint.Header{Status: checkpoint.StatusDone}}, nil
}

// A store that panics is a journal that cannot be read, and the run can be tried again.
func TestResume_storePanics(t *testing.T) {
	o := solver(t, scripted.New(), stored(new(panics)))
	for range 2 {
		_, err := resumed(t, o, "r")
		var journal *orchestrator.JournalError
		require.ErrorAs(t, err, &journal)
		var panicked *machine.PanicError
		require.ErrorAs(t, err, &panicked)
		require.Equal(t, "no disk", panicked.Value)
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

// Of a batch that was in progress when the run broke off nobody knows whether it has had its
// effect: a run that is stopped as soon as it is resumed does not say that it was not started.
func TestResume_stoppedAtOnce(t *testing.T) {
	hang := tools.NewRaw(tools.Definition{Name: "hang"}, func(ctx context.Context, _ string) (string, error) {
		tools.Progress(ctx, "begun")
		<-ctx.Done()
		return "", ctx.Err()
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("hang", "{}", "1"))), with(hang), stored(new(checkpoint.Memory)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range o.Stream(ctx, task("go")) {
		if e.Kind == machine.EventToolProgress {
			break
		}
	}
	for e := range o.Resume(ctx, resuming("r")) {
		cancel()
		if end, ok := e.Detail.(machine.RunFinished); ok {
			require.Equal(t, machine.StatusStopped, end.Status)
			require.Equal(t, messages.StatusUnknown, end.Output.ToolMetas()[0].Status)
		}
	}
}
