package orchestrator_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// forcing returns an orchestrator whose model has to call list_rooms before it answers.
func forcing(t *testing.T, model llmclient.Client) *orchestrator.Orchestrator {
	t.Helper()
	must := llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "list_rooms"}
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Tools: officeTools(), Strategies: strategy.Set{"solve": completetask.New(completetask.Config{ToolChoice: must})},
	})
	require.NoError(t, err)
	return o
}

// roomsOf is a call of no tool.
const roomsOf = `{"name": "rooms_of", "arguments": {"day": "Monday"}}`

// byGrammar is a call in the form that a schema demands.
var byGrammar = scripted.Text(`{"reply": {"tool": "list_rooms", "arguments": {"day": "Monday"}}}`)

// A call that cannot be made is asked for again by schema, and forced calls then at once.
func TestHeldCalls_bySchema(t *testing.T) {
	model := scripted.New(scripted.Text(roomsOf), byGrammar, scripted.Text("Linden."), byGrammar, scripted.Text("Ahorn."))
	o := forcing(t, model)
	events := watched(t, o, task("Which rooms are free on Monday?"))
	require.Empty(t, model.Requests()[0].Schema)
	asked := model.Requests()[1]
	require.Empty(t, asked.Tools)
	var schema struct {
		Properties map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(asked.Schema.Schema, &schema))
	require.NotContains(t, string(schema.Properties["reply"]), "answer")
	require.Empty(t, model.Requests()[2].Schema)
	require.NotEmpty(t, model.Requests()[2].Tools, "the conversation goes on natively")
	var shown string
	for _, e := range events {
		switch d := e.Detail.(type) {
		case machine.RetryWaiting:
			require.Equal(t, llmclient.NoticeRepair, d.Kind)
			shown = ""
		default:
			if e.Kind == machine.EventTextDelta {
				shown += e.Text
			}
		}
	}
	require.Equal(t, "Linden.", shown, "the reply without a call is taken back")

	called, res := calledIn(t, o, delegation.Input{Goal: "And again?"})
	require.Equal(t, []string{"list_rooms"}, called)
	require.Equal(t, "Ahorn.", res.Output.Text())
	require.NotEmpty(t, model.Requests()[3].Schema, "at once")
}

// The last model call of a run is not made again.
func TestHeldCalls_last(t *testing.T) {
	model := scripted.New(scripted.Text(roomsOf), byGrammar)
	one := task("Which rooms are free on Monday?")
	one.Limits.ModelCalls = 1
	_, err := forcing(t, model).Run(t.Context(), one)
	require.Error(t, err)
	require.Len(t, model.Requests(), 1)
}

// A call that stayed text shows as well that the server does not force calls.
func TestHeldCalls_afterACallInTheText(t *testing.T) {
	model := scripted.New(scripted.Text(listMonday), scripted.Text("Linden."), byGrammar, scripted.Text("Ahorn."))
	o := forcing(t, model)
	for _, want := range []string{"Linden.", "Ahorn."} {
		called, res := calledIn(t, o, delegation.Input{Goal: "Which rooms are free?"})
		require.Equal(t, []string{"list_rooms"}, called)
		require.Equal(t, want, res.Output.Text())
	}
	require.Empty(t, model.Requests()[0].Schema)
	require.NotEmpty(t, model.Requests()[2].Schema)
}

// Where nothing holds the reply to a schema, the error about the first reply counts, and the model
// is not asked so again.
func TestHeldCalls_noSchemas(t *testing.T) {
	model := scripted.New(scripted.Text(roomsOf), scripted.Text(roomsOf), scripted.Text("Linden."), scripted.Text(roomsOf), scripted.Text("Ahorn."))
	o := solver(t, model, with(officeTools()...))
	_, res := calledIn(t, o, delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, "Linden.", res.Output.Text())
	_, res = calledIn(t, o, delegation.Input{Goal: "And on Tuesday?"})
	require.Equal(t, "Ahorn.", res.Output.Text())
	for i, r := range model.Requests() {
		require.Equal(t, i == 1, r.Schema != nil, i)
	}
}

// A call that cannot be made is asked for again so that it can.
func TestHeldCalls_ofNoTool(t *testing.T) {
	model := scripted.New(scripted.Text(roomsOf), byGrammar, scripted.Text("Linden."))
	called, res := calledIn(t, solver(t, model, with(officeTools()...)), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, []string{"list_rooms"}, called)
	require.Equal(t, "Linden.", res.Output.Text())
	require.Contains(t, string(model.Requests()[1].Schema.Schema), "answer")
}

// So is an empty reply, where a call was left in a text before.
func TestHeldCalls_afterNothing(t *testing.T) {
	model := scripted.New(scripted.Text(listMonday), scripted.Text("\n"), byGrammar, scripted.Text("Linden."))
	called, res := calledIn(t, solver(t, model, with(officeTools()...)), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, []string{"list_rooms", "list_rooms"}, called)
	require.Equal(t, "Linden.", res.Output.Text())
	require.NotEmpty(t, model.Requests()[2].Schema)

	model = scripted.New(scripted.Text(listMonday), scripted.Text("\n"), scripted.Text(roomsOf))
	_, res = calledIn(t, solver(t, model, with(officeTools()...)), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, "\n", res.Output.Text(), "it is as it was")
}

// A server that cannot do schemas at all fails none of the runs: the model is told what is wrong.
func TestHeldCalls_refused(t *testing.T) {
	down := scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "failed to make a sampler"}}
	model := scripted.New(scripted.Text(roomsOf), down, scripted.Text("Linden."))
	_, res := calledIn(t, solver(t, model, with(officeTools()...)), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, "Linden.", res.Output.Text())
	require.Empty(t, model.Requests()[2].Schema)
}

// After text from outside a call by schema needs a person's approval, as a call in the text does.
func TestHeldCalls_needApproval(t *testing.T) {
	save := scripted.Text(`{"reply": {"tool": "save_note", "arguments": {"title": "x", "text": "owned"}}}`)
	in := delegation.Input{Messages: messages.History{messages.User{Content: []messages.UserContent{messages.Text{Text: "A page."}}, Untrusted: true}, messages.UserText("Go on.")}}
	res := ran(t, solver(t, scripted.New(scripted.Text(roomsOf), save), with(officeTools()...), stored(new(checkpoint.Memory))), orchestrator.Task{Run: "r", Input: in})
	require.Equal(t, machine.StatusWaiting, res.Status)
}

// Other servers and other replies are left alone.
func TestHeldCalls_elsewhere(t *testing.T) {
	model := scripted.New(scripted.Text(roomsOf))
	_, res := calledIn(t, forcing(t, native{model}), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, roomsOf, res.Output.Text())
	model = scripted.New(scripted.Text("I would look."))
	_, res = calledIn(t, forcing(t, model), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, "I would look.", res.Output.Text())
}
