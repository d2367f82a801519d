// Package refund has a strategy that pays customers back, and tests that explore it.
package refund

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// The states: what is waited for.
const (
	Ready    strategy.State = "ready"
	Deciding strategy.State = "deciding" // waits for an amount
	Paying   strategy.State = "paying"   // waits for the bank
	Telling  strategy.State = "telling"  // waits for a letter to the customer
	Done     strategy.State = "done"
	Failed   strategy.State = "failed"
)

const (
	started strategy.Trigger = "started"
	unclear strategy.Trigger = "unclear"
	decided strategy.Trigger = "decided"
	again   strategy.Trigger = "again"
	paid    strategy.Trigger = "paid"
	told    strategy.Trigger = "told"
	gaveUp  strategy.Trigger = "gave_up"
)

// Table is the state machine.
var Table = &strategy.Table{
	Name:    "refund",
	Initial: Ready,
	States: []strategy.StateRule{
		{Name: Ready},
		{Name: Deciding, Awaits: nextstep.KindGetChatCompletion},
		{Name: Paying, Awaits: nextstep.KindExecuteTools},
		{Name: Telling, Awaits: nextstep.KindGetChatCompletion},
		{Name: Done, Awaits: nextstep.KindComplete},
		{Name: Failed, Awaits: nextstep.KindReportError},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{Ready}, On: started, To: Deciding},
		{From: []strategy.State{Deciding}, On: unclear, To: Deciding, Cap: "questions"},
		{From: []strategy.State{Deciding}, On: decided, To: Paying},
		{From: []strategy.State{Paying}, On: again, To: Paying, Cap: "retries"},
		{From: []strategy.State{Paying}, On: paid, To: Telling},
		{From: []strategy.State{Telling}, On: told, To: Done},
		{From: []strategy.State{Deciding, Paying, Telling}, On: gaveUp, To: Failed},
	},
}

// New returns a factory of the strategy. The tool "pay" of the run makes the payment.
func New() func() strategy.Strategy {
	return func() strategy.Strategy {
		return &refund{fsm: Table.New(strategy.Caps{"questions": 1, "retries": 2})}
	}
}

type refund struct {
	strategy.Defaults
	fsm   *strategy.FSM
	tools []tools.Definition
	memory
}

// memory is all that later steps depend on.
type memory struct {
	History messages.History `json:"history"`
	Euros   int              `json:"euros"`
	Tries   int              `json:"tries"`
}

func (s *refund) FSM() *strategy.FSM               { return s.fsm }
func (s *refund) Names() strategy.Names            { return strategy.Names{Tools: []string{"pay"}} }
func (s *refund) UseTools(defs []tools.Definition) { s.tools = defs }
func (s *refund) Bounds() strategy.Bounds {
	return strategy.Bounds{Calls: map[strategy.State]int{Paying: 1}}
}

func (s *refund) Snapshot() (json.RawMessage, error) { return json.Marshal(s.memory) }
func (s *refund) Restore(data json.RawMessage) error { return json.Unmarshal(data, &s.memory) }

func (s *refund) Initialize(in delegation.Input) nextstep.NextStep {
	s.History, _ = in.Conversation(`How much does the customer get back? Answer with {"euros": N}.`)
	return s.fsm.Then(started, s.ask())
}

func (s *refund) ask() nextstep.GetChatCompletion {
	return nextstep.GetChatCompletion{Request: llmclient.Request{
		Messages: s.History.Clip(), Tools: s.tools, ToolFormat: llmclient.ToolsText, // so the model calls none itself
	}}
}

func (s *refund) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	switch s.fsm.State() {
	case Deciding:
		return s.decide(resp.Message)
	case Telling:
		return s.tell(resp.Message.Text())
	default:
		return s.fsm.OutOfTurn()
	}
}

func (s *refund) decide(reply messages.Assistant) nextstep.NextStep {
	var decision struct{ Euros int }
	if err := json.Unmarshal([]byte(reply.Text()), &decision); err == nil && decision.Euros > 0 {
		s.Euros = decision.Euros
		return s.pay(decided)
	}
	if !s.fsm.Can(unclear) {
		return s.giveUp(errors.New("the model named no amount"))
	}
	if text := reply.Text(); text != "" {
		s.History = append(s.History, messages.AssistantText(text))
	}
	s.History = append(s.History, messages.UserText("That is no amount."))
	return s.fsm.Then(unclear, s.ask())
}

func (s *refund) pay(on strategy.Trigger) nextstep.NextStep {
	s.Tries++
	call := messages.ToolCall{ID: fmt.Sprint("pay-", s.Tries), Name: "pay", Arguments: fmt.Sprintf(`{"euros":%d}`, s.Euros)}
	s.History = append(s.History, messages.Assistant{Content: []messages.AssistantContent{call}})
	return s.fsm.Then(on, nextstep.ExecuteTools{Calls: []messages.ToolCall{call}})
}

func (s *refund) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	if s.fsm.State() != Paying {
		return s.fsm.OutOfTurn()
	}
	result := results[0]
	s.History = append(s.History, messages.Tool{ToolOutput: result})
	switch {
	case result.OK():
		s.History = append(s.History, messages.UserText("Write to the customer."))
		return s.fsm.Then(paid, s.ask())
	case result.Status == messages.StatusUnknown:
		return s.giveUp(&delegation.Error{Code: delegation.CodeUnknown, Message: "nobody knows whether the customer was paid"})
	case s.fsm.Can(again):
		return s.pay(again)
	default:
		return s.giveUp(errors.New("the bank does not pay"))
	}
}

func (s *refund) tell(letter string) nextstep.NextStep {
	if letter == "" {
		return s.giveUp(errors.New("the model wrote no letter"))
	}
	s.History = append(s.History, messages.AssistantText(letter))
	return s.fsm.Then(told, nextstep.Complete{Output: delegation.Output{Messages: s.History.Clip(), Result: &letter}})
}

func (s *refund) giveUp(err error) nextstep.NextStep {
	return s.fsm.Then(gaveUp, nextstep.ReportError{Err: err, Output: delegation.Output{Messages: s.History.Clip()}})
}
