package reasonactobserve_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
)

// S4-5: the user answers in the same process. The answer is a user message, the step has no act and
// no observe turn, and the next step finishes.
func TestS4_5_userAnswers(t *testing.T) {
	model := scripted.New(ask("Which file?"), decide(`{"finish":true,"final_answer":"All set."}`))
	o := agent(t, model, rao.Config{MaxSteps: 3}, func(c *orchestrator.Config) {
		c.Reply = func(_ context.Context, w machine.Wait) (machine.Reply, error) {
			require.Equal(t, "Which file?", w.Text)
			return machine.Reply{Text: "Use latest."}, nil
		}
	})
	told, end := eventsOf(t, o, task("go"))
	require.Equal(t, []string{"agent_start", "agent_turn_start 1", "agent_reason 1", "agent_request_input 1", "agent_turn_start 2", "agent_reason 2", "agent_completion"}, told)
	require.Equal(t, "All set.", end.Output.Text())
	require.Equal(t, messages.UserText("Use latest."), end.Output.Messages[3])
	require.JSONEq(t, "2", string(end.Output.Metadata["steps"]))
	second := model.Requests()[1].Messages
	require.Equal(t, messages.UserText("Use latest."), second[len(second)-2])
}

// S4-5: nobody is there; the run waits, and continues when it is resumed with the answer.
func TestS4_5_runWaits(t *testing.T) {
	model := scripted.New(ask("Which file?"), decide(`{"final_answer":"All set."}`))
	o := agent(t, model, rao.Config{}, func(c *orchestrator.Config) { c.Store = new(checkpoint.Memory) })
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Equal(t, machine.StatusWaiting, res.Status)
	require.Len(t, res.Waits, 1)
	require.Equal(t, rao.RequestInput, res.Waits[0].Tool)
	res, err = orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{
		Run: "r", Replies: []machine.Reply{{WaitID: res.Waits[0].ID, Text: "Use latest."}},
	}))
	require.NoError(t, err)
	require.Equal(t, "All set.", res.Output.Text())
	require.Contains(t, res.Output.Messages, messages.Message(messages.UserText("Use latest.")))
}

// If a user declines to answer, the model is told so.
func TestS4_5_userDeclines(t *testing.T) {
	o := agent(t, scripted.New(ask("Which file?"), decide(`{"final_answer":"Then not."}`)), rao.Config{}, func(c *orchestrator.Config) {
		c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
			return machine.Reply{Reason: "no time"}, nil
		}
	})
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.Contains(t, res.Output.Messages[3].(messages.User).Text(), "did not answer")
	require.Contains(t, res.Output.Messages[3].(messages.User).Text(), "no time")
}

// S4-6: a stop during a question to the user ends the run at once, without another model call.
func TestS4_6_stopWhileWaiting(t *testing.T) {
	stop := make(chan struct{})
	model := scripted.New(ask("Which file?"))
	o := agent(t, model, rao.Config{}, func(c *orchestrator.Config) {
		c.Reply = func(ctx context.Context, _ machine.Wait) (machine.Reply, error) {
			close(stop)
			<-ctx.Done()
			return machine.Reply{Text: "too late"}, nil
		}
	})
	ta := task("go")
	ta.Stop = stop
	res, err := o.Run(t.Context(), ta)
	require.Error(t, err)
	require.Equal(t, machine.StatusStopped, res.Status)
	require.Len(t, model.Requests(), 1)
	require.Len(t, res.Output.Messages, 4, "the task, the decision with its answer, and that the run was stopped")
	require.Equal(t, messages.AssistantText("[stopped]"), res.Output.Messages[3])
	require.NoError(t, res.Output.Messages.Validate())
}

// S4-7: without an answer within the time limit, the run ends as timed out.
func TestS4_7_noAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := agent(t, scripted.New(ask("Which file?")), rao.Config{}, func(c *orchestrator.Config) {
			c.Timeouts.Run = time.Minute
			c.Reply = func(ctx context.Context, _ machine.Wait) (machine.Reply, error) {
				<-ctx.Done()
				return machine.Reply{}, ctx.Err()
			}
		})
		res, err := o.Run(t.Context(), task("go"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, machine.StatusStopped, res.Status)
	})
}
