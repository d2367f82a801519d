package builtin_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// If the parent of a waiting agent is stopped, the agent's usage counts as its parent's, because
// nobody will resume the agent.
func TestAgentThatWaits_stopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		two := []messages.ToolCall{scripted.Call("worker", `{"goal":"asks"}`, "1"), scripted.Call("worker", `{"goal":"works"}`, "2")}
		question := []messages.ToolCall{scripted.Call(tools.AskUserName, `{"question":"Which?"}`, "q")}
		model := scripted.New(
			scripted.Reply{For: "go", Calls: two, Usage: messages.Usage{Input: 1}},
			scripted.Reply{For: "asks", Calls: question, Usage: messages.Usage{Input: 10}},
			scripted.Reply{For: "works", Func: func(*llmclient.Request) scripted.Reply {
				synctest.Wait() // the other agent waits
				close(stop)
				return scripted.Reply{Text: "done", Usage: messages.Usage{Input: 100}}
			}},
		)
		worker := orchestrator.Agent{Definition: tools.Definition{Name: "worker"}, Strategy: "worker"}
		o, err := orchestrator.New(orchestrator.Config{
			Client: model, Default: "lead",
			Strategies: strategy.Set{"lead": completetask.New(completetask.Config{}), "worker": completetask.New(completetask.Config{})},
			Tools:      []tools.Tool{orchestrator.AgentTool(worker), tools.AskUser()},
		})
		require.NoError(t, err)
		res, _ := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}, Stop: stop})
		require.Equal(t, machine.StatusStopped, res.Status)
		require.EqualValues(t, 111, res.Output.Usage.Input)
	})
}
