package planreviseexecute_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/tools"
)

// S1-16: a plan in words of as many steps as are allowed is executed. The texts of the run are the
// plan and the texts of each step, and its tool results are those of the steps. An earlier
// conversation is not among them.
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
	made := planOf(t, res.Output)
	require.Equal(t, []string{"Step one", "Step two"}, goals(made))
	require.Zero(t, made.Planned, "max 2: it was not cut")
	require.JSONEq(t, "2", string(res.Output.Metadata["steps_executed"]))
	require.NoError(t, res.Output.Messages.Validate())
	require.Len(t, res.Output.Messages, 4, "what steps said is no part of the conversation")
}

func goals(p pre.Plan) (list []string) {
	for _, s := range p.Steps {
		list = append(list, s.Goal)
	}
	return list
}

// S1-18: of a plan of five steps, where two are allowed, the first two are carried out, and the
// metadata says that it was cut, and how long it was.
func TestS1_18_planIsCut(t *testing.T) {
	model := scripted.New(scripted.Text("1. A\n2. B\n3. C\n4. D\n5. E"), scripted.Text("one"), scripted.Text("two"), scripted.Text("never"))
	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: set, Default: "prose-at-once"})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
	require.NoError(t, err)
	require.Len(t, model.Requests(), 3)
	require.Equal(t, []string{"1. A\n2. B\n3. C\n4. D\n5. E", "one", "two"}, res.Output.Texts())
	made := planOf(t, res.Output)
	require.Equal(t, []string{"A", "B"}, goals(made))
	require.Equal(t, 5, made.Planned)
	require.JSONEq(t, "2", string(res.Output.Metadata["steps_executed"]))
	require.JSONEq(t, "true", string(res.Output.Metadata["truncated"]))
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
