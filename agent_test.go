package segue_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func add(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }

func adder() tools.Tool {
	return tools.New(tools.Definition{Name: "add", Description: "Adds two numbers.", ReadOnly: true}, add)
}

func TestAgent_Ask(t *testing.T) {
	model := scripted.New(
		scripted.Reply{Text: "I add.", Calls: []messages.ToolCall{scripted.Call("add", `{"A":19,"B":23}`, "1")}},
		scripted.Text("It is 42."))
	a := &segue.Agent{Model: model, System: "Be brief.", Tools: []tools.Tool{adder()}}
	answer, err := a.Ask(t.Context(), "What is 19 + 23?")
	require.NoError(t, err)
	require.Equal(t, "It is 42.", answer)
	require.Equal(t, messages.System{Text: "Be brief."}, model.Requests()[0].Messages[0])
	require.Equal(t, "42", model.Requests()[1].Messages.Last().(messages.Tool).Output)
}

// What was there by then comes with the error.
func TestAgent_Ask_fails(t *testing.T) {
	a := &segue.Agent{Model: scripted.New(scripted.Reply{Text: "It is 4", Finish: llmclient.FinishLength})}
	answer, err := a.Ask(t.Context(), "go")
	require.Equal(t, "It is 4", answer)
	e, ok := errors.AsType[*delegation.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, delegation.CodeTruncated, e.Code)
}

// An answer that is empty is an error that says what came; the run itself succeeds.
func TestAgent_emptyAnswer(t *testing.T) {
	call := scripted.Calls(scripted.Call("add", `{"A":1,"B":2}`, "1"))
	for _, c := range []struct {
		replies []scripted.Reply
		says    string
	}{
		{[]scripted.Reply{{}}, "nothing at all"},
		{[]scripted.Reply{{Text: " \n"}}, "blanks alone"},
		{[]scripted.Reply{{Thought: "I could list the files."}}, "thoughts alone"},
		{[]scripted.Reply{{Thought: "I look.", Text: "I look. ", Calls: call.Calls}, {}}, "nothing at all"},
		{[]scripted.Reply{call, {Thought: "3."}}, "thoughts alone"},
	} {
		store := new(checkpoint.Memory)
		agent := func() *segue.Agent {
			return &segue.Agent{Model: scripted.New(c.replies...), Tools: []tools.Tool{adder()}, Configure: func(cfg *orchestrator.Config) { cfg.Store = store }}
		}
		requireEmptyAnswer := func(text string, err error) {
			t.Helper()
			require.Empty(t, strings.TrimSpace(text))
			require.ErrorContains(t, err, "segue: the answer is empty: the last reply was "+c.says)
			e, ok := errors.AsType[*delegation.Error](err)
			require.True(t, ok)
			require.Equal(t, delegation.CodeFailed, e.Code)
		}
		requireEmptyAnswer(agent().Ask(t.Context(), "go"))
		requireEmptyAnswer(agent().Session("s").Ask(t.Context(), "go"))
		chat := agent().Chat(messages.History{messages.UserText("hello"), messages.AssistantText("Hello!")})
		requireEmptyAnswer(chat.Ask(t.Context(), "go"))
		require.NoError(t, chat.History.Validate())
		require.Greater(t, len(chat.History), 2, "the turn is kept, as that of any failure")
		for _, stream := range []iter.Seq2[string, error]{
			agent().Stream(t.Context(), "go"), agent().Session("t").Stream(t.Context(), "go"), agent().Chat(nil).Stream(t.Context(), "go"),
		} {
			var last error
			for _, err := range stream {
				require.NoError(t, last)
				last = err
			}
			requireEmptyAnswer("", last)
		}
		o, err := agent().Orchestrator()
		require.NoError(t, err)
		res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "go"}})
		require.NoError(t, err)
		require.Equal(t, machine.StatusDone, res.Status)
	}
	answer, err := (&segue.Agent{Model: scripted.New(scripted.Reply{}, scripted.Text("3.")), Strategy: completetask.New(completetask.Config{OnEmpty: completetask.EmptyAsk})}).Ask(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, "3.", answer)
}

func TestAgent_misconfigured(t *testing.T) {
	model := scripted.New()
	for name, c := range map[string]struct {
		agent *segue.Agent
		want  string
	}{
		"no model":                      {&segue.Agent{}, "Client"},
		"a tool that is nil":            {&segue.Agent{Model: model, Tools: []tools.Tool{nil}}, "nil"},
		"a compaction for the strategy": {&segue.Agent{Model: model, Compact: &compaction.Config{}, Strategy: completetask.New(completetask.Config{})}, "give it to the Strategy"},
		"a wrong window":                {&segue.Agent{Model: model, Compact: &compaction.Config{Window: 7}}, "Window: 7 is not a number of tokens of at least 100"},
		"a prompt for the strategy":     {&segue.Agent{Model: model, System: "x", Strategy: completetask.New(completetask.Config{})}, "give the prompt to the Strategy"},
	} {
		_, err := c.agent.Ask(t.Context(), "go")
		require.ErrorContains(t, err, c.want, name)
		_, again := c.agent.Ask(t.Context(), "go")
		require.Equal(t, err, again, name)
		for _, err := range c.agent.Stream(t.Context(), "go") {
			require.ErrorContains(t, err, c.want, name)
		}
		_, err = c.agent.Chat(nil).Ask(t.Context(), "go")
		require.ErrorContains(t, err, c.want, name)
	}
	require.Empty(t, model.Requests())
}

func TestAgent_waits(t *testing.T) {
	replies := func() llmclient.Client {
		return scripted.New(scripted.Reply{Calls: []messages.ToolCall{scripted.Call(tools.AskUserName, `{"question":"Which one?"}`, "1")}})
	}
	var memory checkpoint.Memory
	for _, c := range []struct {
		store checkpoint.Store
		want  any
	}{{nil, new(*orchestrator.UnansweredError)}, {&memory, new(*segue.WaitingError)}} {
		a := &segue.Agent{
			Model: replies(), Tools: []tools.Tool{tools.AskUser()},
			Configure: func(cfg *orchestrator.Config) { cfg.Store = c.store },
		}
		chat := a.Chat(messages.History{messages.UserText("hello"), messages.AssistantText("Hello!")})
		_, err := chat.Ask(t.Context(), "go")
		require.ErrorAs(t, err, c.want)
		if c.store != nil {
			require.ErrorContains(t, err, "Which one?")
		}
		require.NoError(t, chat.History.Validate())
		require.Len(t, chat.History, 2)
	}
}

func TestAgent_Stream(t *testing.T) {
	replies := []scripted.Reply{
		{Text: "I look. ", Thought: "Hm.", Calls: []messages.ToolCall{scripted.Call("helper", `{"goal":"look"}`, "1")}},
		{Text: "What the helper says."},
		{Deltas: []string{"It is ", "there."}},
	}
	stream := func() (*segue.Agent, *scripted.Client) {
		model := scripted.New(replies...)
		return &segue.Agent{Model: model, Configure: func(cfg *orchestrator.Config) {
			cfg.Strategies["help"] = completetask.New(completetask.Config{})
			cfg.Tools = append(cfg.Tools, orchestrator.AgentTool(orchestrator.Agent{
				Definition: tools.Definition{Name: "helper", ReadOnly: true}, Strategy: "help",
			}))
		}}, model
	}
	a, _ := stream()
	var text strings.Builder
	for piece, err := range a.Stream(t.Context(), "Where is it?") {
		require.NoError(t, err)
		text.WriteString(piece)
	}
	require.Equal(t, "I look. It is there.", text.String())

	a, model := stream()
	for range a.Stream(t.Context(), "Where is it?") {
		break
	}
	require.Len(t, model.Requests(), 1)

	a = &segue.Agent{Model: scripted.New()}
	for piece, err := range a.Stream(t.Context(), "go") {
		require.Empty(t, piece)
		require.Error(t, err)
	}
}

// A child that is delegated to works on the task as well, and is heard.
func TestAgent_Stream_children(t *testing.T) {
	a := &segue.Agent{
		Model:    scripted.New(scripted.Text("A draft."), scripted.Text("APPROVED")),
		Strategy: reflection.New(reflection.Config{}),
		Configure: func(cfg *orchestrator.Config) {
			cfg.Strategies[completetask.Name] = completetask.New(completetask.Config{})
		},
	}
	var text strings.Builder
	for piece, err := range a.Stream(t.Context(), "Write.") {
		require.NoError(t, err)
		text.WriteString(piece)
	}
	require.Equal(t, "A draft.APPROVED", text.String())
}

type weather struct {
	City    string   `json:"city" jsonschema:"where"`
	Sky     string   `json:"sky" enum:"clear,cloudy"`
	Celsius *float64 `json:"celsius,omitempty"`
	Winds   []struct {
		From string `json:"from" enum:"north,south"`
	} `json:"winds"`
}

func TestAsk_typed(t *testing.T) {
	model := scripted.New(
		scripted.Text(`{"city":"Oslo","sky":"green","celsius":null,"winds":[]}`),
		scripted.Text("```json\n{\"city\":\"Oslo\",\"sky\":\"clear\",\"celsius\":-3.5,\"winds\":[{\"from\":\"north\"}]}\n```"),
		scripted.Text(`{"city":"Rome","sky":"clear","celsius":null,"winds":[]}`))
	a := &segue.Agent{Model: model}
	got, err := segue.Ask[weather](t.Context(), a, "The weather in Oslo?")
	require.NoError(t, err)
	require.Equal(t, "Oslo", got.City)
	require.InDelta(t, -3.5, *got.Celsius, 0)
	require.Equal(t, "north", got.Winds[0].From)
	require.Contains(t, model.Requests()[1].Messages.Last().(messages.User).Text(), "/sky")

	got, err = segue.Ask[weather](t.Context(), a, "And in Rome?")
	require.NoError(t, err)
	require.Equal(t, weather{City: "Rome", Sky: "clear", Winds: got.Winds}, got)

	schema := model.Requests()[0].Schema
	require.Equal(t, "weather", schema.Name)
	require.True(t, schema.Strict)
	require.JSONEq(t, `{
		"type": "object", "additionalProperties": false, "required": ["city", "sky", "celsius", "winds"],
		"properties": {
			"city": {"type": "string", "description": "where"},
			"sky": {"type": "string", "enum": ["clear", "cloudy"]},
			"celsius": {"type": ["null", "number"]},
			"winds": {"type": "array", "items": {
				"type": "object", "additionalProperties": false, "required": ["from"],
				"properties": {"from": {"type": "string", "enum": ["north", "south"]}}
			}}
		}}`, string(schema.Schema))
}

func TestAsk_typedFails(t *testing.T) {
	model := scripted.New(scripted.Text("no"), scripted.Text("no"), scripted.Text("no"))
	a := &segue.Agent{Model: model}
	_, err := segue.Ask[weather](t.Context(), a, "The weather?")
	e, ok := errors.AsType[*delegation.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, delegation.CodeInvalid, e.Code)
	require.EqualError(t, err, "completetask: the answer is not as it was asked for: the JSON does not fit the schema: not JSON: unexpected 'o' at byte 1")
	require.Len(t, model.Requests(), 3)
	require.Equal(t, messages.UserText("Your answer is not of the form that was asked for: the JSON does not fit the schema: not JSON: unexpected 'o' at byte 1\n"+
		"Answer again with the JSON alone."), model.Requests()[1].Messages.Last())

	// A model may decline.
	model = scripted.New(scripted.Reply{Text: "I cannot help with that.", Finish: llmclient.FinishRefusal})
	_, err = segue.Ask[weather](t.Context(), &segue.Agent{Model: model}, "go")
	e, ok = errors.AsType[*delegation.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, delegation.CodeFailed, e.Code)
	require.ErrorContains(t, err, `the model declined to answer: "I cannot help with that."`)

	// What fits the schema and cannot be read is told to the model too.
	model = scripted.New(scripted.Text(`{"at":"tomorrow"}`), scripted.Text(`{"at":"2026-01-02T03:04:05Z"}`))
	when, err := segue.Ask[*struct {
		At time.Time `json:"at"`
	}](t.Context(), &segue.Agent{Model: model}, "When?")
	require.NoError(t, err)
	require.Equal(t, 2026, when.At.Year())

	model = scripted.New()
	a = &segue.Agent{Model: model}
	_, err = segue.Ask[[]string](t.Context(), a, "go")
	require.ErrorContains(t, err, "put the []string into a struct")
	_, err = segue.Ask[struct{ hidden int }](t.Context(), a, "go")
	require.ErrorContains(t, err, "no field")
	_, err = segue.Ask[struct {
		A int `enum:"1"`
	}](t.Context(), a, "go")
	require.ErrorContains(t, err, "only strings")
	_, err = segue.Ask[weather](t.Context(), &segue.Agent{Model: model, Strategy: completetask.New(completetask.Config{})}, "go")
	require.ErrorContains(t, err, "Strategy of its own")
	require.Empty(t, model.Requests())
}

// JSON Schema says that 3.0 is an integer.
func TestAsk_typedReadsWholeNumbers(t *testing.T) {
	type count struct {
		N    int `json:"n"`
		Each []struct{ Of int64 }
	}
	const counted = `{"n":3.0,"Each":[{"Of":1e3}]}`
	n, err := segue.Ask[count](t.Context(), &segue.Agent{Model: scripted.New(scripted.Text(counted))}, "How many?")
	require.NoError(t, err)
	require.Equal(t, count{3, []struct{ Of int64 }{{1000}}}, n)
	for p, err := range segue.Stream[count](t.Context(), &segue.Agent{Model: scripted.New(scripted.Text(counted))}, "How many?") {
		require.NoError(t, err)
		require.Equal(t, n, p.Value)
	}
}

// A conversation goes on in another process with what JSON keeps of it.
func TestChat(t *testing.T) {
	agent := func(replies ...scripted.Reply) (*segue.Agent, *scripted.Client) {
		model := scripted.New(replies...)
		return &segue.Agent{Model: model, System: "Be brief."}, model
	}
	a, _ := agent(scripted.Text("Hello, Ann."), scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeQuota}}, scripted.Text("Yes."))
	chat := a.Chat(nil)
	answer, err := chat.Ask(t.Context(), "I am Ann.")
	require.NoError(t, err)
	require.Equal(t, "Hello, Ann.", answer)
	_, err = chat.Ask(t.Context(), "Are you there?")
	require.Error(t, err)
	for piece, err := range chat.Stream(t.Context(), "Now?") {
		require.NoError(t, err)
		require.Equal(t, "Yes.", piece)
	}
	saved, err := json.Marshal(chat.History)
	require.NoError(t, err)

	var history messages.History
	require.NoError(t, json.Unmarshal(saved, &history))
	a, model := agent(scripted.Text("Ann."))
	answer, err = a.Chat(history).Ask(t.Context(), "Who am I?")
	require.NoError(t, err)
	require.Equal(t, "Ann.", answer)
	require.Equal(t, append(history.Clip(), messages.UserText("Who am I?")), model.Requests()[0].Messages)
	require.Contains(t, history, messages.UserText("Are you there?"))
}

// The system prompt is the agent's, not the conversation's: one that was changed meanwhile holds
// from the next turn on.
func TestChat_newSystem(t *testing.T) {
	first := &segue.Agent{Model: scripted.New(scripted.Text("Hello, Ann.")), System: "Be brief."}
	chat := first.Chat(nil)
	_, err := chat.Ask(t.Context(), "I am Ann.")
	require.NoError(t, err)

	model := scripted.New(scripted.Text("You are Ann."), scripted.Text("Yes."))
	second := (&segue.Agent{Model: model, System: "Be thorough."}).Chat(chat.History)
	for range 2 {
		_, err = second.Ask(t.Context(), "Who am I?")
		require.NoError(t, err)
	}
	said := model.Requests()[1].Messages
	require.Equal(t, messages.System{Text: "Be thorough."}, said[0])
	for _, m := range said[1:] {
		require.NotEqual(t, messages.RoleSystem, m.Role())
	}
	require.Equal(t, messages.System{Text: "Be brief."}, chat.History[0])
}

// A typed task is a run of the agent's one orchestrator. Where it waits, it does not go on without
// its schema: the orchestrator asks for the strategy that has it.
func TestAsk_typedWaits(t *testing.T) {
	model := scripted.New(
		scripted.Reply{Calls: []messages.ToolCall{scripted.Call(tools.AskUserName, `{"question":"Where?"}`, "1")}},
		scripted.Text(`{"city":"Oslo","sky":"clear","celsius":null,"winds":[]}`))
	store, configured := new(checkpoint.Memory), 0
	a := &segue.Agent{Model: model, System: "Be brief.", Tools: []tools.Tool{tools.AskUser()}, Configure: func(cfg *orchestrator.Config) {
		cfg.Store = store
		configured++
	}}
	_, err := segue.Ask[weather](t.Context(), a, "The weather?")
	waiting, ok := errors.AsType[*segue.WaitingError](err)
	require.True(t, ok, "%v", err)
	o, err := a.Orchestrator()
	require.NoError(t, err)
	require.Equal(t, 1, configured)

	r := orchestrator.Resumption{Run: waiting.Run, Replies: []machine.Reply{{WaitID: waiting.Waits[0].ID, Text: "In Oslo."}}}
	for _, err = range o.Resume(t.Context(), r) {
	}
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))
	schema, err := llmclient.SchemaOf[weather]()
	require.NoError(t, err)
	r.Factory = completetask.New(completetask.Config{System: "Be brief.", Schema: schema})
	var got weather
	for e, err := range o.Resume(t.Context(), r) {
		require.NoError(t, err)
		if end, ok := e.Detail.(machine.RunFinished); ok {
			require.NoError(t, end.Output.Decode(&got))
		}
	}
	require.Equal(t, "Oslo", got.City)
	require.NotNil(t, model.Requests()[1].Schema)
}

// A Configure that panics leaves an agent that says so, and no orchestrator that is nil.
func TestAgent_configurePanics(t *testing.T) {
	a := &segue.Agent{Model: scripted.New(), Configure: func(*orchestrator.Config) { panic("a map is nil") }}
	require.PanicsWithValue(t, "a map is nil", func() { _, _ = a.Ask(t.Context(), "go") })
	_, err := a.Ask(t.Context(), "go")
	require.EqualError(t, err, "segue: Agent.Configure: panicked when it was called first")
	_, err = segue.Ask[weather](t.Context(), a, "go")
	require.ErrorContains(t, err, "segue: Agent.")
}
