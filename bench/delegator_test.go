package bench_test

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// delegator is a strategy that asks its model for the next task, and delegates it to "work". It is
// written like the library's own strategies, with a table.
type delegator struct {
	strategy.Defaults
	fsm     *strategy.FSM
	history messages.History
	call    messages.ToolCall
}

const (
	ready    strategy.State = "ready"
	thinking strategy.State = "thinking"
	waiting  strategy.State = "waiting"
	done     strategy.State = "done"

	begin   strategy.Trigger = "begin"
	hand    strategy.Trigger = "hand"
	receive strategy.Trigger = "receive"
	finish  strategy.Trigger = "finish"
)

var delegatorTable = &strategy.Table{
	Name:    "delegate",
	Initial: ready,
	States: []strategy.StateRule{
		{Name: ready},
		{Name: thinking, Awaits: nextstep.KindGetChatCompletion},
		{Name: waiting, Awaits: nextstep.KindDelegate},
		{Name: done, Awaits: nextstep.KindComplete},
	},
	Rules: []strategy.Rule{
		{From: []strategy.State{ready}, On: begin, To: thinking},
		{From: []strategy.State{thinking}, On: hand, To: waiting},
		{From: []strategy.State{waiting}, On: receive, To: thinking, Cap: "tasks"},
		{From: []strategy.State{thinking}, On: finish, To: done},
	},
}

var (
	delegatorCaps  = strategy.Caps{"tasks": many}
	delegatorTools = []tools.Definition{{Name: "delegate", Description: "Hands out a task."}}
)

func newDelegator() strategy.Strategy { return &delegator{fsm: delegatorTable.New(delegatorCaps)} }

// FSM implements strategy.Tabler.
func (d *delegator) FSM() *strategy.FSM { return d.fsm }

// Initialize implements strategy.Strategy.
func (d *delegator) Initialize(in delegation.Input) nextstep.NextStep {
	d.history = append(make(messages.History, 0, 4), messages.UserText(in.Goal))
	return d.ask(begin)
}

func (d *delegator) ask(on strategy.Trigger) nextstep.NextStep {
	return d.fsm.Then(on, nextstep.GetChatCompletion{
		Request: llmclient.Request{Model: "parent", Messages: d.history.Clip(), Tools: delegatorTools},
	})
}

// ProcessAPIResponse implements strategy.Strategy.
func (d *delegator) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	d.history = append(d.history, resp.Message)
	calls := resp.Message.Calls()
	if len(calls) == 0 {
		answer := resp.Message.Text()
		return d.fsm.Then(finish, nextstep.Complete{Output: delegation.Output{Result: &answer, Messages: d.history.Clip()}})
	}
	d.call = calls[0]
	var in task
	if err := d.call.Decode(&in); err != nil {
		return nextstep.ReportError{Err: err}
	}
	return d.fsm.Then(hand, nextstep.Delegate{Strategy: "work", Input: delegation.Input{Goal: in.Task}})
}

// ProcessDelegationResult implements strategy.Strategy.
func (d *delegator) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	if out.Err != nil {
		return nextstep.ReportError{Err: fmt.Errorf("bench: the sub-task failed: %w", out.Err)}
	}
	d.history = append(d.history, messages.Tool{ToolOutput: messages.ToolOutput{
		CallID: d.call.ID, ToolName: d.call.Name, Output: out.Text(), Status: messages.StatusOK,
	}})
	return d.ask(receive)
}
