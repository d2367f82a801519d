package reasonactobserve_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

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
