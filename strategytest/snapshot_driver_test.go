package strategytest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// answer is a way to answer a step, with a name for reports. Each call of a batch is answered
// separately.
type answer struct {
	name string
	make func(e *machine.Effect) nextstep.Answer
}

// explorer shows a strategy that it drives along guided, short and random paths.
type explorer struct {
	Subject
	look func(strategy.Strategy) // before and after the last answer of a path
}

// short takes the paths of one answer.
func (e *explorer) short() {
	pending := e.along(nil)
	if pending == nil {
		return
	}
	for _, next := range e.answers(pending) {
		e.along([]answer{next})
	}
}

// along shows the strategy at the last answer of a path. Call it for the paths that this path
// begins with, too. It returns the step that is pending then; nil if there is none.
func (e *explorer) along(path []answer) nextstep.NextStep {
	shown := false
	look := func(st strategy.Strategy) {
		if shown {
			e.look(st)
		}
	}
	r := &recorder{e.New(), look}
	d, err := drive(&machine.Config{
		Strategies: strategy.Set{"subject": func() strategy.Strategy { return r }}, Tools: e.Tools, Remote: e.Children,
	}, e.Input)
	if err != nil {
		return nil
	}
	for i, next := range path {
		shown = i == len(path)-1
		if d.m.Done() || d.answer(next) != nil {
			return nil
		}
	}
	if d.m.Done() {
		return nil
	}
	e.look(r.Strategy)
	return d.pending()
}

// The random paths of a Snapshotter, which are longer than those that are explored.
const (
	randomPaths  = 20
	randomLength = 12
)

// wander takes random paths.
func (e *explorer) wander() {
	for seed := range uint64(randomPaths) {
		chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same paths in each test
		var path []answer
		for len(path) < randomLength {
			pending := e.along(path)
			if pending == nil {
				break
			}
			next := e.answers(pending)
			path = append(path, next[chance.IntN(len(next))])
		}
	}
}

// answers lists the ways to answer a step.
func (e *explorer) answers(step nextstep.NextStep) []answer {
	switch step := step.(type) {
	case nextstep.GetChatCompletion:
		return append(e.replies(step.Request), e.failures()...)
	case nextstep.ExecuteTools:
		return batches()
	case nextstep.Delegate:
		return append(outputs(), e.failures()...)
	default:
		panic(fmt.Sprintf("strategytest: a %T is never pending", step))
	}
}

// replies lists possible replies of a model to a request.
func (e *explorer) replies(req llmclient.Request) []answer {
	list := []answer{
		reply("text", llmclient.FinishStop, messages.Text{Text: "an answer"}),
		reply("nothing", llmclient.FinishStop),
		reply("cut off text", llmclient.FinishLength, messages.Text{Text: "an ans"}),
		reply("withheld", llmclient.FinishContentFilter, messages.Text{Text: "an"}),
		reply("refusal", llmclient.FinishRefusal, messages.Text{Text: "no"}),
		reply("unknown call", llmclient.FinishToolCalls, call(0, "no_such_tool", "{}")),
	}
	for i, d := range req.Tools {
		if i == 2 { // more of a kind shows nothing new
			break
		}
		list = append(list,
			reply("call "+d.Name, llmclient.FinishToolCalls, messages.Text{Text: "so"}, call(0, d.Name, "{}")),
			reply("bad call "+d.Name, "", call(0, d.Name, `{"cut`)),
			reply("cut off calls "+d.Name, llmclient.FinishLength, call(0, d.Name, "{}"), call(1, d.Name, `{"cut`)),
		)
	}
	for i, r := range e.Replies {
		list = append(list, answer{fmt.Sprintf("reply %d", i), func(*machine.Effect) nextstep.Answer { return nextstep.APIResponse{Response: &r} }})
	}
	return list
}

func call(n int, name, args string) messages.ToolCall {
	return messages.ToolCall{ID: fmt.Sprintf("call_%d", n), Name: name, Arguments: args}
}

func reply(name string, finish llmclient.FinishReason, parts ...messages.AssistantContent) answer {
	return answer{name, func(*machine.Effect) nextstep.Answer {
		return nextstep.APIResponse{Response: &llmclient.Response{
			Message: messages.Assistant{Content: append([]messages.AssistantContent(nil), parts...)},
			Finish:  finish,
			Usage:   messages.Usage{Input: 3, Output: 2, Total: 5},
		}}
	}}
}

// batches lists the possible ends of tools.
func batches() []answer {
	var list []answer
	for _, status := range []messages.Status{messages.StatusOK, messages.StatusFailed, messages.StatusUnknown} {
		list = append(list, answer{"tools " + string(status), func(e *machine.Effect) nextstep.Answer {
			return nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Status: status, Output: "tool output"}}
		}})
	}
	return list
}

// outputs lists the possible outputs of a child.
func outputs() []answer {
	result, empty := "a result", ""
	work := messages.History{messages.UserText("a part of the task"), messages.AssistantText(result)}
	var list []answer
	for name, out := range []delegation.Output{
		{Result: &result, Data: json.RawMessage(`"<data>"`), Messages: work, Parts: []delegation.Part{{Name: "1", After: 1, Messages: work}}},
		{Result: &empty},
		{},
		{Result: &result, Messages: work, Begin: 1, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "the child failed"}},
		{Err: &delegation.Error{Code: delegation.CodeLimit, Message: "too deep"}},
	} {
		out.Counts.Steps = 1 // a child that reports nothing counts with all its limits
		list = append(list, answer{fmt.Sprintf("child %d", name), func(*machine.Effect) nextstep.Answer { return nextstep.DelegationResult{Output: out} }})
	}
	return list
}

// failures lists the possible failures of a step.
func (e *explorer) failures() []answer {
	var list []answer
	for _, code := range []llmclient.Code{llmclient.CodeUnavailable, llmclient.CodeMalformedToolCall} {
		list = append(list, answer{"failure " + string(code), func(*machine.Effect) nextstep.Answer {
			return nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(code), Message: "it did not work"}
		}})
	}
	for i, f := range e.Failures {
		list = append(list, answer{fmt.Sprintf("failure %d", i), func(*machine.Effect) nextstep.Answer { return f }})
	}
	return list
}

// driver drives the run of one strategy, one step after the other. It approves every call.
type driver struct {
	m    *machine.Machine
	open []machine.Effect // of the pending step
}

// drive begins a run.
func drive(cfg *machine.Config, in delegation.Input) (*driver, error) {
	d := &driver{m: machine.New(cfg)}
	return d, d.apply(cfg.Start(machine.Started{Run: "conform", Strategy: "subject", Input: in, Parallel: -1}))
}

// apply applies a record, and the records that are due after it. An intent may withdraw others.
func (d *driver) apply(rec machine.Record) error {
	due := []machine.Record{rec}
	for ; len(due) > 0; due = due[1:] {
		if err := d.m.Apply(due[0]); err != nil {
			return err
		}
		for intents := d.m.Ready().Intents; len(intents) > 0; intents = d.m.Ready().Intents {
			if err := d.m.Apply(intents[0]); err != nil {
				return err
			}
		}
		for _, e := range d.m.Ready().Effects {
			if e.Kind == machine.EffectPerson {
				due = append(due, machine.Replied{Reply: machine.Reply{WaitID: e.Wait.ID, Approve: true}})
			} else {
				d.open = append(d.open, e)
			}
		}
		d.m.Advance()
	}
	return nil
}

// pending returns the step that must be answered.
func (d *driver) pending() nextstep.NextStep {
	if d.open[0].Kind != machine.EffectTool {
		return d.open[0].Step
	}
	var calls []messages.ToolCall
	for i := range d.open {
		calls = append(calls, d.open[i].Call)
	}
	return nextstep.ExecuteTools{Calls: calls}
}

// answer answers the step: for a batch each call, in order.
func (d *driver) answer(a answer) error {
	for seq := d.open[0].ID.Seq; len(d.open) > 0 && d.open[0].ID.Seq == seq; {
		e := d.open[0]
		d.open = slices.Delete(d.open, 0, 1)
		if err := d.apply(e.Answered(a.make(&e), time.Time{}, 0)); err != nil {
			return err
		}
	}
	return nil
}
