package orchestrator_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

func replying(reply func(machine.Wait) (machine.Reply, error)) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) {
		c.Reply = func(_ context.Context, w machine.Wait) (machine.Reply, error) { return reply(w) }
	}
}

// changing has every call made with other arguments than those it was asked for with.
func changing(arguments string) func(*orchestrator.Config) {
	return handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		if e.Kind == machine.EffectTool {
			e.Call.Arguments = arguments
		}
		return next(ctx, e)
	})
}

// An approval is for the arguments that were shown: whatever changes them afterwards keeps the call
// from being made, also where the policy would simply allow the call as it is now.
func TestApprove_changedBehind(t *testing.T) {
	ifEmpty := func(r machine.ApprovalRequest) machine.Verdict {
		if r.Call.Arguments == "{}" {
			return machine.VerdictAsk
		}
		return machine.VerdictAllow
	}
	for name, policy := range map[string]machine.ApprovalPolicy{"asks": machine.AskAlways, "asks about what was shown": ifEmpty} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int32
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")), with(counted("risky", &runs)),
				approving(orchestrator.ApprovalConfig{Default: policy}), changing(`{"path":"/etc"}`),
				replying(func(machine.Wait) (machine.Reply, error) { return machine.Reply{Approve: true}, nil }))
			res := ran(t, o, task("go"))
			out := res.Output.ToolMetas()[0]
			require.Equal(t, messages.ReasonRefused, out.Reason)
			require.Equal(t, messages.StatusFailed, out.Status)
			require.Contains(t, out.Output, "not what a person approved")
			require.Zero(t, runs.Load())
		})
	}
}

// A call that was simply allowed is judged again if a middleware changes it, and then made only if
// it is allowed as it is now.
func TestApprove_changedCallIsJudgedAgain(t *testing.T) {
	home := func(r machine.ApprovalRequest) machine.Verdict {
		switch r.Call.Arguments {
		case "{}", `{"path":"/home"}`:
			return machine.VerdictAllow
		case `{"path":"/tmp"}`:
			return machine.VerdictAsk
		default:
			return machine.VerdictRefuse
		}
	}
	for arguments, made := range map[string]bool{`{"path":"/home"}`: true, `{"path":"/tmp"}`: false, `{"path":"/etc"}`: false} {
		for name, policy := range map[string]*orchestrator.ApprovalConfig{"judged": {Default: home}, "nobody judges": nil} {
			var runs atomic.Int32
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("move", "{}", "1")), scripted.Text("done")), with(counted("move", &runs)), changing(arguments),
				func(c *orchestrator.Config) { c.Approve = policy })
			res := ran(t, o, task("go"))
			out := res.Output.ToolMetas()[0]
			if policy == nil || made {
				require.Equal(t, "did move", out.Output, "%s: %s", name, arguments)
				require.Equal(t, arguments, res.Output.Messages[1].(messages.Assistant).Calls()[0].Arguments, "the conversation says what was called")
				require.EqualValues(t, 1, runs.Load())
				continue
			}
			require.Equal(t, messages.ReasonRefused, out.Reason, "%s: %s", name, arguments)
			require.Zero(t, runs.Load())
		}
	}
}

// In the process, too, an approval expires, and whoever cannot be asked has not approved.
func TestApprove_noAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(reply func(context.Context, machine.Wait) (machine.Reply, error)) messages.ToolOutput {
			var runs atomic.Int32
			o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")), with(counted("risky", &runs)),
				approving(orchestrator.ApprovalConfig{Expires: time.Minute}), func(c *orchestrator.Config) { c.Reply = reply })
			events := watched(t, o, task("go"))
			require.Zero(t, runs.Load())
			require.Equal(t, 1, count(events, machine.EventWaitStarted))
			require.Equal(t, 1, count(events, machine.EventWaitEnded))
			return finished(t, events).Output.ToolMetas()[0]
		}
		out := run(func(ctx context.Context, _ machine.Wait) (machine.Reply, error) {
			<-ctx.Done()
			return machine.Reply{Approve: true}, nil
		})
		require.Equal(t, "nobody approved this call in time", out.Output)
		out = run(func(context.Context, machine.Wait) (machine.Reply, error) {
			return machine.Reply{Approve: true}, errors.New("the chat is down, token=s3cret")
		})
		require.Equal(t, "nobody could be asked to approve this call", out.Output)
		out = run(func(context.Context, machine.Wait) (machine.Reply, error) { panic("s3cret") })
		require.Equal(t, "nobody could be asked to approve this call", out.Output)
	})
}

// Several questions of one batch are asked at the same time, and one that is declined fails its
// call alone.
func TestAsk_several(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	o := solver(t, scripted.New(scripted.Calls(question("A?", "1"), question("B?", "2")), scripted.Text("done")), with(tools.AskUser()),
		replying(func(w machine.Wait) (machine.Reply, error) {
			both.Done()
			both.Wait()
			if w.Text == "A?" {
				return machine.Reply{Reason: "none of your business"}, nil
			}
			return machine.Reply{Text: "b"}, nil
		}))
	events := watched(t, o, task("go"))
	metas := finished(t, events).Output.ToolMetas()
	require.Equal(t, "tools: the person declined to answer: none of your business", metas[0].Output)
	require.Equal(t, messages.StatusFailed, metas[0].Status)
	require.Equal(t, "b", metas[1].Output)
	require.Equal(t, 2, count(events, machine.EventWaitEnded))
}

// Without anybody to ask, and without a journal, a run waits all the same, says for what, and that
// it cannot go on.
func TestAsk_nobody(t *testing.T) {
	o := solver(t, scripted.New(scripted.Calls(question("A?", "1"))), with(tools.AskUser()))
	res, err := o.Run(t.Context(), task("go"))
	var lost *orchestrator.UnansweredError
	require.ErrorAs(t, err, &lost)
	require.ErrorIs(t, err, tools.ErrSuspended)
	require.EqualError(t, err, `orchestrator: run "r" waits for an answer and cannot go on: nobody can be asked, and without Config.Store nothing was stored to resume`)
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Equal(t, "A?", res.Waits[0].Text)
	require.Equal(t, res.Waits, lost.Waits)
	require.NoError(t, res.Output.Messages.Validate())
	require.Len(t, res.Output.Messages, 3)

	o = solver(t, scripted.New(scripted.Calls(question("A?", "1"))), with(tools.AskUser()))
	events, err := collect(t, o, task("go"))
	require.ErrorAs(t, err, &lost)
	require.Equal(t, lost.Waits, finished(t, events).Waits)

	o = solver(t, scripted.New(scripted.Calls(question("A?", "1"))), with(tools.AskUser()), stored(new(checkpoint.Memory)), func(c *orchestrator.Config) {
		c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) { return machine.Reply{}, tools.ErrSuspended }
	})
	res = ran(t, o, task("go"))
	require.Equal(t, machine.StatusWaiting, res.Status, "whoever is asked may say that it will be answered later")
}

// A tool that needs approval and then asks gets both answers, one after the other; a tool that asks
// twice keeps the first answer. Neither has an effect twice that stands behind its question.
func TestResume_approvalThenQuestions(t *testing.T) {
	store := new(checkpoint.Memory)
	effects := 0
	curious := tools.NewRaw(tools.Definition{Name: "curious", Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
		first, err := tools.Ask(ctx, tools.Question{Text: "first?"})
		if err != nil {
			return "", err
		}
		second, err := tools.Ask(ctx, tools.Question{Text: "second?"})
		if err != nil {
			return "", err
		}
		effects++
		return first + " " + second, nil
	})
	build := scriptedBy(t, stored(store), with(curious), approving(orchestrator.ApprovalConfig{}))
	res := ran(t, build(scripted.Calls(scripted.Call("curious", "{}", "1"))), task("go"))
	for _, reply := range []machine.Reply{{Approve: true}, {Text: "one"}, {Text: "two"}} {
		require.Equal(t, machine.StatusWaiting, res.Status)
		require.Len(t, res.Waits, 1)
		reply.WaitID = res.Waits[0].ID
		res = goOn(t, build(scripted.Text("done")), "r", reply)
	}
	require.Equal(t, machine.StatusDone, res.Status)
	require.Equal(t, "one two", res.Output.ToolMetas()[0].Output)
	require.Equal(t, 1, effects)
}

// The question of a tool that has returned while it asked is withdrawn: whoever is asked is told
// so, an answer that comes all the same disturbs nothing, and the tool asks nobody any more.
func TestAsk_afterTheStep(t *testing.T) {
	asked, withdrawn, told := make(chan struct{}), make(chan struct{}), make(chan error)
	stubborn := tools.NewRaw(tools.Definition{Name: "stubborn"}, func(ctx context.Context, _ string) (string, error) {
		go func() {
			own := context.WithoutCancel(ctx)
			_, err := tools.Ask(own, tools.Question{Text: "A?"})
			told <- err
			_, err = tools.Ask(own, tools.Question{Text: "B?"})
			told <- err
		}()
		<-asked
		return "", nil
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("stubborn", "{}", "1")), scripted.Calls(question("C?", "1")), scripted.Text("done")),
		with(stubborn, tools.AskUser()), func(c *orchestrator.Config) {
			c.Reply = func(ctx context.Context, w machine.Wait) (machine.Reply, error) {
				switch w.Text {
				case "A?":
					close(asked)
					<-ctx.Done()
					close(withdrawn)
				case "C?":
					<-withdrawn
					first, second := <-told, <-told
					assert.True(t, first != nil && second != nil, "%v, %v", first, second)
				default:
					t.Errorf("%q is asked", w.Text)
				}
				return machine.Reply{Text: "yes"}, nil
			}
		})
	events := watched(t, o, task("go"))
	require.Equal(t, "yes", finished(t, events).Output.ToolMetas()[1].Output)
	var ends []bool
	for _, d := range details[machine.WaitEnded](events) {
		ends = append(ends, d.Reply != nil)
	}
	require.Equal(t, []bool{false, true}, ends, "what began has ended: the one without an answer")
}
