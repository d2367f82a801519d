// Strategy runs a strategy of its own: it asks for an answer, and then for a shorter one.
package main

import (
	"context"
	"fmt"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The state machine: what is awaited in each state, and which way leads on.
var table = &strategy.Table{
	Name:    "shorten",
	Initial: "ready",
	States: []strategy.StateRule{
		{Name: "ready"},
		{Name: "drafting", Awaits: nextstep.KindGetChatCompletion},
		{Name: "shortening", Awaits: nextstep.KindGetChatCompletion},
		{Name: "done", Awaits: nextstep.KindComplete},
	},
	Rules: []strategy.Rule{
		{On: "start", From: []strategy.State{"ready"}, To: "drafting"},
		{On: "drafted", From: []strategy.State{"drafting"}, To: "shortening"},
		{On: "shortened", From: []strategy.State{"shortening"}, To: "done"},
	},
}

type shorten struct {
	strategy.Defaults
	fsm     *strategy.FSM
	history messages.History
}

func (s *shorten) FSM() *strategy.FSM { return s.fsm }

func (s *shorten) Initialize(in delegation.Input) nextstep.NextStep {
	s.history, _ = in.Conversation("")
	return s.fsm.Then("start", s.ask())
}

func (s *shorten) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	s.history = append(s.history, resp.Message)
	if s.fsm.State() == "drafting" {
		s.history = append(s.history, messages.UserText("Say it in one sentence."))
		return s.fsm.Then("drafted", s.ask())
	}
	answer := resp.Message.Text()
	return s.fsm.Then("shortened", nextstep.Complete{Output: delegation.Output{Messages: s.history.Clip(), Result: &answer}})
}

func (s *shorten) ask() nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: s.history.Clip()}}
}

func main() {
	agent := segue.Agent{
		Model:    openaichat.MustNew(openaichat.Config{Model: "gpt-4.1-mini"}),
		Strategy: func() strategy.Strategy { return &shorten{fsm: table.New(nil)} },
	}
	fmt.Println(agent.Ask(context.Background(), "What is a state machine?"))
}
