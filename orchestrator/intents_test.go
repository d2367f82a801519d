package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// The limit of a run that is reached when the first agent of a batch begins ends the run as a limit
// does, although more calls of the batch were due.
func TestAgentTool_limitBeforeTheOthers(t *testing.T) {
	m := scripted.New(scripted.Calls(scripted.Call("worker", `{"goal":"a"}`, "1"), scripted.Call("worker", `{"goal":"b"}`, "2")))
	o := solver(t, m, withWork, workAll, with(worker()))
	do := task("go")
	do.Limits = delegation.Limits{ModelCalls: 1}
	res, err := o.Run(t.Context(), do)
	require.Equal(t, machine.StatusLimit, res.Status, "%v", err)
}

// A tool that asks somebody when another branch reaches the limit of the run is told that nobody
// answers, although nobody was asked yet.
func TestAsk_limitBeforeAnybodyIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := make(chan struct{})
		ask := tools.NewRaw(tools.Definition{Name: "ask", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
			<-asks
			return tools.Ask(ctx, tools.Question{Text: "Which?"})
		})
		client := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
			if goalOf(req) == "go" {
				return reply(scripted.Call("ask", "{}", "1"), scripted.Call("worker", `{"goal":"a"}`, "2")), nil
			}
			onDelta(llmclient.Delta{Kind: llmclient.DeltaText, Text: "so"})
			time.Sleep(time.Second) // the other one asks first
			return reply(scripted.Call("ask", "{}", "1")), nil
		})
		o := solver(t, client, withWork, workAll, with(worker(), ask), func(c *orchestrator.Config) {
			c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
				return machine.Reply{Text: "that"}, nil
			}
		})
		do := task("go")
		do.Limits = delegation.Limits{Steps: 3}
		for e, err := range o.Stream(t.Context(), do) {
			if e.Kind == machine.EventTextDelta {
				close(asks)
				time.Sleep(2 * time.Second) // until both have something to say
			}
			if end, ok := e.Detail.(machine.RunFinished); ok {
				require.Equal(t, machine.StatusLimit, end.Status, "%v", err)
			}
		}
	})
}

func reply(calls ...messages.ToolCall) *llmclient.Response {
	r := &llmclient.Response{Finish: llmclient.FinishToolCalls}
	for _, c := range calls {
		r.Message.Content = append(r.Message.Content, c)
	}
	return r
}
