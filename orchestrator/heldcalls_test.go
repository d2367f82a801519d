package orchestrator_test

import (
	"encoding/json"
	"slices"
	"strings"
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

// After text from outside a call by schema needs a person's approval, as a call in the text does.
func TestHeldCalls_needApproval(t *testing.T) {
	save := scripted.Text(`{"reply": {"tool": "save_note", "arguments": {"title": "x", "text": "owned"}}}`)
	in := delegation.Input{Messages: messages.History{messages.User{Content: []messages.UserContent{messages.Text{Text: "A page."}}, Untrusted: true}, messages.UserText("Go on.")}}
	res := ran(t, solver(t, scripted.New(scripted.Text(roomsOf), save), with(officeTools()...), stored(new(checkpoint.Memory))), orchestrator.Task{Run: "r", Input: in})
	require.Equal(t, machine.StatusWaiting, res.Status)
}

// What is asked for again by schema, and what is left alone.
func TestHeldCalls(t *testing.T) {
	text := func(texts ...string) (list []scripted.Reply) {
		for _, s := range texts {
			list = append(list, scripted.Text(s))
		}
		return list
	}
	grammar := byGrammar.Text
	down := scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "failed to make a sampler"}}
	for name, c := range map[string]struct {
		forced  bool // the model has to call a tool
		replies []scripted.Reply
		called  []string // in each run
		answers []string // of the runs, one after the other
		schemas []int    // the places of the requests that have one
	}{
		"a call of no tool":                             {false, text(roomsOf, grammar, "Linden."), []string{"list_rooms"}, []string{"Linden."}, []int{1}},
		"a call in the text, where calls are forced":    {true, text(listMonday, "Linden.", grammar, "Ahorn."), []string{"list_rooms"}, []string{"Linden.", "Ahorn."}, []int{2}},
		"nothing holds the reply: not asked so again":   {false, text(roomsOf, roomsOf, "Linden.", roomsOf, "Ahorn."), nil, []string{"Linden.", "Ahorn."}, []int{1}},
		"an empty reply behind a call in the text":      {false, text(listMonday, "\n", grammar, "Linden."), []string{"list_rooms", "list_rooms"}, []string{"Linden."}, []int{2}},
		"an empty reply, and nothing holds the next":    {false, text(listMonday, "\n", roomsOf), []string{"list_rooms"}, []string{"\n"}, []int{2}},
		"a server that has no schemas fails none":       {false, append(text(roomsOf), append([]scripted.Reply{down}, text("Linden.")...)...), nil, []string{"Linden."}, []int{1}},
		"a reply that is no call, where one was forced": {true, text("I would look."), nil, []string{"I would look."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(c.replies...)
			o := solver(t, model, with(officeTools()...))
			if c.forced {
				o = forcing(t, model)
			}
			for _, answer := range c.answers {
				called, res := calledIn(t, o, delegation.Input{Goal: "Which rooms are free?"})
				require.Equal(t, c.called, called)
				require.Equal(t, answer, res.Output.Text())
			}
			for i, r := range model.Requests() {
				require.Equal(t, slices.Contains(c.schemas, i), r.Schema != nil, "request %d", i)
				require.Equal(t, r.Schema != nil && !c.forced, r.Schema != nil && strings.Contains(string(r.Schema.Schema), "answer"))
			}
		})
	}
	_, res := calledIn(t, forcing(t, native{scripted.New(scripted.Text(roomsOf))}), delegation.Input{Goal: "Which rooms are free?"})
	require.Equal(t, roomsOf, res.Output.Text(), "a server that returns calls as such")
}
