package policyclient_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// sum returns an orchestrator for a task with a tool that adds.
func sum(t *testing.T, model llmclient.Client) *orchestrator.Orchestrator {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Tools:      []tools.Tool{tools.New(tools.Definition{Name: "add"}, func(_ context.Context, in struct{ A, B float64 }) (float64, error) { return in.A + in.B, nil })},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: "Use the tools."})},
	})
	require.NoError(t, err)
	return o
}

// A strategy for native calls does not notice the policy. A reply that was sent back counts as a
// request.
func TestRun_repairTurnCounts(t *testing.T) {
	script := func() llmclient.Client {
		return policyclient.Wrap(scripted.New(
			scripted.Reply{Text: bad, Usage: tokens(1)},
			scripted.Reply{Text: "call add {\"A\":1,\"B\":2}\n", Usage: tokens(10)},
			scripted.Reply{Text: "Three.", Usage: tokens(100)},
		), lines{})
	}
	task := orchestrator.Task{Input: delegation.Input{Goal: "1 + 2?"}}
	var end machine.RunFinished
	var waits []machine.RetryWaiting
	for e, err := range sum(t, script()).Stream(t.Context(), task) {
		require.NoError(t, err)
		switch d := e.Detail.(type) {
		case machine.RunFinished:
			end = d
		case machine.RetryWaiting:
			waits = append(waits, d)
		default:
		}
	}
	require.Equal(t, machine.StatusDone, end.Status)
	require.Equal(t, "Three.", end.Output.Text())
	require.EqualValues(t, 111, end.Output.Usage.Input)
	require.Equal(t, "3", end.Output.Messages[3].(messages.Tool).Output)
	require.Len(t, waits, 1)
	require.Equal(t, llmclient.NoticeRepair, waits[0].Kind)
	require.True(t, waits[0].Discard)

	task.Limits.ModelCalls = 2
	res, err := sum(t, script()).Run(t.Context(), task)
	require.Error(t, err)
	require.Equal(t, machine.StatusLimit, res.Status)
}

// TestS2_17 changes the policy in the middle of a conversation: the instructions, the reading of
// replies and the form of old turns are those of the new policy.
func TestS2_17_swap(t *testing.T) {
	call := messages.ToolCall{Name: "add", Arguments: `{"A":1,"B":2}`}
	var past messages.History
	for name, policy := range builtins(t) {
		model := scripted.New(scripted.Text(policy.(markdownpolicy.Renderer).Render([]messages.AssistantContent{call})), scripted.Text(answerIn(policy)))
		res, err := sum(t, policyclient.Wrap(model, policy)).Run(t.Context(), orchestrator.Task{Input: delegation.Input{Messages: past, Goal: "1 + 2?"}})
		require.NoError(t, err, name)
		require.Equal(t, "Three.", res.Output.Text(), name)
		past = res.Output.Messages.Clip()

		ids := map[string]bool{}
		for _, m := range past {
			if a, ok := m.(messages.Assistant); ok {
				for _, c := range a.Calls() {
					require.False(t, ids[c.ID], "%s: the id %s is there twice", name, c.ID)
					ids[c.ID] = true
				}
			}
		}
		want, err := policy.FormatQuery(past[1 : len(past)-1])
		require.NoError(t, err)
		sent := model.Requests()[1].Messages
		require.Equal(t, want, sent[1:], name)
		require.Contains(t, sent[0].(messages.System).Text, "Use the tools.\n\n")
	}
}

func answerIn(policy markdownpolicy.Policy) string {
	return policy.(markdownpolicy.Renderer).Render([]messages.AssistantContent{messages.Text{Text: "Three."}})
}
