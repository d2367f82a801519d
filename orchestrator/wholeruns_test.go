package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/tools"
)

// heeding is a step agent that hands on what the model says: calls, or its answer.
func heeding(before func(stepagent.Step)) func() strategy.Strategy {
	return stepagent.New(stepagent.Config{PlanEvery: 1, Step: func(s stepagent.Step) stepagent.StepResult {
		before(s)
		return stepagent.Ask(llmclient.Request{Tools: s.Tools}, func(r llmclient.Response) stepagent.StepResult {
			if list := r.Message.Calls(); len(list) > 0 {
				return stepagent.ToolCalls(list...)
			}
			return stepagent.Finish(r.Message.Text())
		})
	}})
}

// S1-7: what is stopped behind its second round has the messages of two rounds, and its metadata
// says that there were two.
func TestS1_7_stoppedBehindTheSecondRound(t *testing.T) {
	model := scripted.New(scripted.Calls(scripted.Call("a", "1", "1")), scripted.Calls(scripted.Call("a", "2", "2")), scripted.Text("never"))
	rounds := 0
	end := stoppedAt(t, solver(t, model, with(echo("a"))), task("go"), func(e machine.Event) bool {
		if e.Kind == machine.EventToolFinished {
			rounds++
		}
		return e.Kind == machine.EventToolFinished && rounds == 2
	})
	require.Equal(t, machine.StatusStopped, end.Status)
	require.Len(t, model.Requests(), 2)
	require.JSONEq(t, "2", string(end.Output.Metadata["model_calls"]))
	h := end.Output.Messages
	require.Len(t, h, 6)
	for i, id := range []string{"1", "2"} {
		require.Equal(t, id, h[1+2*i].(messages.Assistant).Calls()[0].ID)
		require.Equal(t, "a"+id, h[2+2*i].(messages.Tool).Output)
		require.Equal(t, id, h[2+2*i].(messages.Tool).CallID)
	}
	require.Equal(t, messages.AssistantText("[stopped]"), h[5])
}

// S1-19: where a step fails in what it does, and may not be planned anew, the run has its error,
// the step behind it is not begun, and what was said before is kept. A step is told the earlier
// results that it depends on.
func TestS1_19_aStepFails(t *testing.T) {
	var goals []string
	carryOut := stepagent.New(stepagent.Config{Step: func(s stepagent.Step) stepagent.StepResult {
		goals = append(goals, s.History.Last().(messages.User).Text())
		if len(goals) == 1 {
			return stepagent.Finish("the first is done")
		}
		return stepagent.Fail(errors.New("there is no second"))
	}})
	plan := `{"steps":[{"id":"x","goal":"A"},{"id":"y","goal":"B","depends_on":["x"]},{"id":"z","goal":"C","depends_on":["y"]}]}`
	o := solver(t, scripted.New(scripted.Calls(scripted.Call(pre.SubmitPlan, plan, "p"))), func(c *orchestrator.Config) {
		c.Default = "plan"
		c.Strategies = strategy.Set{
			"plan": pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxRevisions: -1, Executor: "carry"}), "carry": carryOut,
		}
	})
	res, err := o.Run(t.Context(), task("go"))
	require.ErrorContains(t, err, "there is no second")
	require.Equal(t, machine.StatusFailed, res.Status)
	require.Len(t, goals, 2, "C is not begun")
	require.NotContains(t, goals[0], "the first is done")
	require.Contains(t, goals[1], "the first is done")
	require.Equal(t, "the first is done", res.Output.Text())
	var made pre.Plan
	_, err = res.Output.Metadata.Decode("plan", &made)
	require.NoError(t, err)
	require.Equal(t, "the first is done", *made.Steps[0].Result)
	require.Equal(t, "failed", string(made.Steps[1].Status))
	require.Zero(t, made.Steps[2].Attempts)
}

// S3-15: a call that nobody answered is answered with a marked result in the next request, and the
// one beside it keeps its own. An assistant's message of nothing goes.
func TestS3_15_orphan(t *testing.T) {
	call := func(id string) messages.ToolCall { return messages.ToolCall{ID: id, Name: "a", Arguments: "{}"} }
	both := messages.Assistant{Content: []messages.AssistantContent{call("c1"), call("c2")}}
	answer := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "a", Output: "one"}}
	model := scripted.New(scripted.Text("done"))
	_, err := solver(t, model, with(echo("a"))).Run(t.Context(), orchestrator.Task{Input: delegation.Input{
		Goal: "go on", Messages: messages.History{messages.UserText("go"), both, answer, messages.UserText("well?"), messages.Assistant{}},
	}})
	require.NoError(t, err)
	h := model.Requests()[0].Messages
	require.Len(t, h, 6)
	require.Equal(t, both, h[1])
	require.Equal(t, answer, h[2])
	orphan := h[3].(messages.Tool)
	require.Equal(t, "c2", orphan.CallID)
	require.NotEqual(t, messages.StatusOK, orphan.Status)
	require.NotEmpty(t, orphan.Reason)
	require.Equal(t, messages.History{messages.UserText("well?"), messages.UserText("go on")}, h[4:])
	require.NoError(t, h.Validate())
}

// S3-18: an agent that is not there is not found, by name, whoever asks for it, and no model is
// asked.
func TestS3_18_noSuchAgent(t *testing.T) {
	model := scripted.New()
	o := solver(t, model)
	ta := task("go")
	ta.Strategy = "nobody"
	_, err := o.Run(t.Context(), ta)
	var unknown *strategy.UnknownError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "nobody", unknown.Name)
	require.Equal(t, []string{"solve"}, unknown.Known)
	require.Empty(t, model.Requests())

	_, err = orchestrator.New(orchestrator.Config{
		Client: model, Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools: []tools.Tool{orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "ask"}, Strategy: "nobody"})},
	})
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "nobody", unknown.Name)
}

// S3-19: the hooks come in the order plan, step, before the tools, behind them, finish; the one
// before the tools may change the call.
func TestS3_19_orderOfHooks(t *testing.T) {
	var order []string
	note := func(text string) { order = append(order, text) }
	hooks := handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
		if e.Kind != machine.EffectTool {
			if len(e.Step.(nextstep.GetChatCompletion).Request.Tools) == 0 {
				note("plan")
			}
			return next(ctx, e)
		}
		note("before " + e.Call.Arguments)
		e.Call.Arguments = `{"n":2}`
		answer, err := next(ctx, e)
		note("behind " + answer.(nextstep.ToolResult).Output.Output)
		return answer, err
	})
	model := scripted.New(scripted.Text("1. Look."), scripted.Calls(scripted.Call("a", `{"n":1}`, "1")), scripted.Text("1. Say it."), scripted.Text("done"))
	o := solver(t, model, with(echo("a")), hooks, func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": heeding(func(stepagent.Step) { note("step") })}
	})
	for e, err := range o.Stream(t.Context(), task("go")) {
		require.NoError(t, err)
		if e.Kind == machine.EventRunFinished {
			note("finish")
		}
	}
	require.Equal(t, []string{"plan", "step", `before {"n":1}`, `behind a{"n":2}`, "plan", "step", "finish"}, order)
	require.Equal(t, `{"n":2}`, model.Requests()[3].Messages[3].(messages.Assistant).Calls()[0].Arguments)
}

// S4-7: a question that nobody answers until the time limit ends the run as timed out. The answer
// to something else that is waited for at the same time is neither lost nor taken for the answer.
func TestS4_7_anotherAnswerMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := scripted.New(scripted.Calls(question("Which file?", "1"), scripted.Call("a", "{}", "2")))
		o := solver(t, model, with(tools.AskUser(), echo("a")), func(c *orchestrator.Config) {
			c.Approve = &orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"a": machine.AskAlways}}
			c.Timeouts.Run = time.Minute
			c.Reply = func(ctx context.Context, w machine.Wait) (machine.Reply, error) {
				if w.Kind == machine.WaitApproval {
					time.Sleep(time.Second) // until the question is asked, too
					return machine.Reply{WaitID: w.ID, Approve: true, Text: "yes"}, nil
				}
				<-ctx.Done()
				return machine.Reply{}, ctx.Err()
			}
		})
		began := time.Now()
		res, err := o.Run(t.Context(), task("go"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, machine.StatusStopped, res.Status)
		require.Equal(t, time.Minute, time.Since(began))
		require.Len(t, model.Requests(), 1)
		metas := res.Output.ToolMetas()
		require.Len(t, metas, 2)
		require.NotEqual(t, messages.StatusOK, metas[0].Status, "the question has no answer")
		require.NotContains(t, metas[0].Output, "yes")
		require.Equal(t, "a{}", metas[1].Output)
		require.Equal(t, messages.StatusOK, metas[1].Status)
	})
}
