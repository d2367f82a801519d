package strategytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest"
)

// This is the strategy of docs/writing-a-strategy.md. A test compares the code there with this
// file.

const (
	Ready     strategy.State = "ready"
	Drafting  strategy.State = "drafting"  // waits for a draft
	Reviewing strategy.State = "reviewing" // waits for another strategy's opinion
	Done      strategy.State = "done"
	Failed    strategy.State = "failed"
)

const (
	started  strategy.Trigger = "started"
	drafted  strategy.Trigger = "drafted"
	rejected strategy.Trigger = "rejected"
	approved strategy.Trigger = "approved"
	gaveUp   strategy.Trigger = "gave_up"
)

var Table = &strategy.Table{
	Name:    "second-opinion",
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: Drafting, Awaits: nextstep.KindGetChatCompletion},
		{Name: Reviewing, Awaits: nextstep.KindDelegate},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{Ready}, On: started, To: Drafting},
		{From: []strategy.State{Drafting}, On: drafted, To: Reviewing},
		{From: []strategy.State{Reviewing}, On: rejected, To: Drafting, Cap: "drafts"},
		{From: []strategy.State{Reviewing}, On: approved, To: Done},
		{From: []strategy.State{Drafting, Reviewing}, On: gaveUp, To: Failed},
	},
}

func New(maxDrafts int) func() strategy.Strategy {
	return func() strategy.Strategy {
		return &secondOpinion{fsm: Table.New(strategy.Caps{"drafts": maxDrafts - 1})}
	}
}

type secondOpinion struct {
	strategy.Defaults
	fsm     *strategy.FSM
	history messages.History
	draft   string
}

func (s *secondOpinion) Initialize(in delegation.Input) nextstep.NextStep {
	s.history, _ = in.Conversation("")
	return s.fsm.Then(started, s.ask())
}

func (s *secondOpinion) ask() nextstep.GetChatCompletion {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: s.history.Clip()}}
}

func (s *secondOpinion) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	text := resp.Message.Text()
	switch {
	case s.fsm.State() != Drafting:
		return s.fsm.OutOfTurn()
	case text == "":
		return s.giveUp(errors.New("the model wrote no draft"))
	}
	s.draft = text
	s.history = append(s.history, messages.AssistantText(text))
	return s.fsm.Then(drafted, nextstep.Delegate{
		Strategy: "reviewer",
		Input:    delegation.Input{Goal: "Is this right? Say only FINE, or what is wrong.\n\n" + text},
	})
}

func (s *secondOpinion) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	switch {
	case s.fsm.State() != Reviewing:
		return s.fsm.OutOfTurn()
	case out.Err != nil:
		return s.giveUp(out.Err)
	case out.Text() == "FINE":
		return s.fsm.Then(approved, nextstep.Complete{Output: delegation.Output{Messages: s.history.Clip(), Result: &s.draft}})
	case !s.fsm.Can(rejected):
		return s.giveUp(errors.New("no draft was good enough"))
	}
	s.history = append(s.history, messages.UserText("A reviewer says: "+out.Text()+"\nWrite it anew."))
	return s.fsm.Then(rejected, s.ask())
}

func (s *secondOpinion) giveUp(err error) nextstep.NextStep {
	return s.fsm.Then(gaveUp, nextstep.ReportError{Err: err, Output: delegation.Output{Messages: s.history.Clip()}})
}

func (s *secondOpinion) FSM() *strategy.FSM { return s.fsm }

type memory struct {
	History messages.History `json:"history"`
	Draft   string           `json:"draft"`
}

func (s *secondOpinion) Snapshot() (json.RawMessage, error) {
	return json.Marshal(memory{History: s.history, Draft: s.draft})
}

func (s *secondOpinion) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := json.Unmarshal(snapshot, &m); err != nil {
		return err
	}
	s.history, s.draft = m.History, m.Draft
	return nil
}

func TestSecondOpinionTable(t *testing.T) {
	require.NoError(t, Table.Validate())
}

func TestSecondOpinionRejects(t *testing.T) {
	s := New(2)()
	s.Initialize(delegation.Input{Goal: "Add 2 and 2."})
	s.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("5")})
	step := s.ProcessDelegationResult(delegation.Output{Result: new("It is 4.")})
	again := step.(nextstep.GetChatCompletion)
	require.Contains(t, again.Request.Messages.Last().(messages.User).Text(), "It is 4.")
}

func TestSecondOpinionGoesOn(t *testing.T) {
	s := New(2)()
	step := s.Initialize(delegation.Input{Goal: "And 3?", Messages: messages.History{
		messages.UserText("Add 2 and 2."), messages.AssistantText("4"),
	}})
	require.Len(t, step.(nextstep.GetChatCompletion).Request.Messages, 3)
}

func TestSecondOpinionConforms(t *testing.T) {
	strategytest.Conform(t, strategytest.Subject{New: New(3), Children: []string{"reviewer"}})
}

func Example_secondOpinion() {
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(scripted.Text("5"), scripted.Text("It is 4."), scripted.Text("4"), scripted.Text("FINE")),
		Strategies: strategy.Set{
			"second-opinion": New(3),
			"reviewer":       completetask.New(completetask.Config{}),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	task := orchestrator.Task{Strategy: "second-opinion", Input: delegation.Input{Goal: "Add 2 and 2."}}
	result, err := o.Run(context.Background(), task)
	fmt.Println(result.Output.Text(), err)
	// Output: 4 <nil>
}
