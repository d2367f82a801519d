package planreviseexecute_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// S1-16: the texts of a run are the plan and the texts of each step, and its tool results are those
// of the steps. An earlier conversation is not among them.
func TestS1_16_textsOfSteps(t *testing.T) {
	look := tools.NewRaw(tools.Definition{Name: "look", ReadOnly: true}, func(context.Context, string) (string, error) { return "seen", nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Text("Plan:\n1. Step one\n2. Step two"),
			scripted.Calls(scripted.Call("look", "{}", "c1")), scripted.Text("one"),
			scripted.Text("two"),
		),
		Strategies: set, Default: "prose-at-once", Tools: []tools.Tool{look},
	})
	require.NoError(t, err)
	before := messages.History{messages.UserText("Hello."), messages.AssistantText("Hello!")}
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G", Messages: before}})
	require.NoError(t, err)
	require.Equal(t, 2, res.Output.Begin)
	require.Equal(t, []string{"Plan:\n1. Step one\n2. Step two", "one", "two"}, res.Output.Texts())
	require.Len(t, res.Output.ToolMetas(), 1)
	require.Equal(t, "seen", res.Output.ToolMetas()[0].Output)
	require.JSONEq(t, "2", string(res.Output.Metadata["steps_executed"]))
	require.NoError(t, res.Output.Messages.Validate())
	require.Len(t, res.Output.Messages, 4, "what steps said is no part of the conversation")
}

// S1-19: the texts of a failed step are kept, and the step after it does not run.
func TestS1_19_textsAreKept(t *testing.T) {
	half := scripted.Text("half a text")
	half.Finish = "length"
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("submit_plan", plan("A", "B"), "")), half),
		Strategies: set, Default: "no-revision",
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
	require.ErrorContains(t, err, "cut off")
	require.Equal(t, []string{"half a text"}, res.Output.Texts())
	require.Empty(t, planOf(t, res.Output).Steps[1].Status)
	require.JSONEq(t, "0", string(res.Output.Metadata["steps_executed"]))
}
