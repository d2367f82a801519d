package explore_test

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// own is a tool that a strategy brings.
func own(name string) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, func(context.Context, string) (string, error) { return "", nil })
}

// runsChild has the child of pupils run, and not answered.
func runsChild(o *explore.Options) {
	o.Children, o.Strategies = nil, strategy.Set{"child": newPupil(&twist{})}
}

var brokenAbilities = []broken{
	{name: "panics in Conclude", law: explore.Aside, twist: twist{conclude: func(*pupil) delegation.Output { panic("oops") }}},
	{name: "panics in Inherit", law: explore.Aside, twist: twist{inherit: func(*pupil, delegation.Output) { panic("oops") }}, world: runsChild},
	{name: "leaves calls as they were not made", law: explore.Edited, twist: twist{edit: func(*pupil, []messages.ToolCall) {}}},
	{name: "changes calls that somebody changed", law: explore.Edited, twist: twist{edit: func(p *pupil, calls []messages.ToolCall) {
		calls = slices.Clone(calls)
		calls[0].Arguments = "{}"
		last := len(p.History) - 1
		p.History = append(p.History[:last:last], p.History[last].(messages.Assistant).WithCalls(calls))
	}}},
	{name: "takes a reply while calls are open", law: explore.Turn, twist: twist{turn: func(p *pupil) nextstep.NextStep { return p.request() }}},
	{name: "counts what it does not expect", law: explore.Turn, twist: twist{turn: func(p *pupil) nextstep.NextStep {
		p.Tries++
		return p.fsm.OutOfTurn()
	}}},
	{name: "counts results that it does not expect", law: explore.Turn, twist: twist{heeds: func(p *pupil, r []messages.ToolOutput) {
		p.Tries += len(r)
	}}},
	{name: "moves when it is called out of turn", law: explore.Turn, twist: twist{turn: func(p *pupil) nextstep.NextStep {
		return p.goneTo(lost, nextstep.ReportError{Err: &delegation.Error{Code: delegation.CodeDefect}})
	}}},
	{name: "panics when it is called out of turn", law: explore.Turn, twist: twist{turn: func(*pupil) nextstep.NextStep { panic("oops") }}},
	{name: "brings two tools of a name", law: explore.Tools, twist: twist{brings: func(*pupil) []tools.Tool { return []tools.Tool{own("plan"), own("plan")} }}},
	{name: "brings a tool with the name of another", law: explore.Tools, twist: twist{brings: func(*pupil) []tools.Tool { return []tools.Tool{own("look")} }}},
	{name: "is one for all frames", law: explore.New, twist: only(&shared{step: nextstep.GetChatCompletion{
		Request: llmclient.Request{Messages: messages.History{messages.UserText("go")}},
	}})},
	{name: "overwrites a message that it returned", law: explore.Kept, twist: reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		p.History[0] = messages.UserText("rewritten")
		return p.fsm.Then("answered", nextstep.Complete{Output: delegation.Output{Result: new(r.Message.Text())}})
	})},
	{name: "overwrites a tool that it returned", law: explore.Kept, twist: twist{
		uses: func(p *pupil, defs []tools.Definition) { p.tools = slices.Clone(defs) },
		reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
			step := p.replied(r)
			if step.Kind() == nextstep.KindComplete {
				p.tools[0].Description = "what it did last"
			}
			return step
		},
		snapshot: noSnapshot,
	}},
	{name: "removes a message in place", law: explore.Kept, twist: twist{
		reply: func(p *pupil, r llmclient.Response) nextstep.NextStep {
			p.History = slices.Delete(p.History, 0, 1)
			return p.fsm.Then("answered", nextstep.Complete{Output: delegation.Output{Result: new(r.Message.Text())}})
		},
		snapshot: noSnapshot,
	}},
	{name: "writes to the results", law: explore.Given, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		r[0].Output = "shortened"
		return p.acted(r)
	})},
	{name: "writes to the reply", law: explore.Given, twist: reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if len(r.Message.Calls()) == 0 {
			r.Message.Content[0] = messages.Text{Text: "better"}
		}
		return p.replied(r)
	})},
	{name: "writes to the tools of the run", law: explore.Given, twist: twist{uses: func(_ *pupil, defs []tools.Definition) { defs[0].Description = "seen" }}},
	{name: "writes to the output of its child", law: explore.Given, twist: twist{child: func(p *pupil, out delegation.Output) nextstep.NextStep {
		if out.Err != nil {
			return p.giveUp("the child failed")
		}
		out.Messages[len(out.Messages)-1] = messages.UserText("read")
		return p.helped(out)
	}}, world: runsChild},
	{name: "writes to the result of its child", law: explore.Given, twist: twist{child: func(p *pupil, out delegation.Output) nextstep.NextStep {
		if out.Result != nil {
			*out.Result = "mine"
		}
		return p.helped(out)
	}}, world: runsChild},
	{name: "writes to the data of its task", law: explore.Given, twist: twist{start: func(p *pupil, in delegation.Input) nextstep.NextStep {
		copy(in.Data, `{"n":2}`)
		return p.fsm.Then("start", p.request())
	}}, world: func(o *explore.Options) {
		o.Input = delegation.Input{Goal: "a task", Data: json.RawMessage(`{"n":1}`)}
	}},
}

// shared has no memory, and is no other strategy each time.
type shared struct {
	strategy.Defaults
	step nextstep.NextStep
}

func (s *shared) Initialize(delegation.Input) nextstep.NextStep { return s.step }

func (s *shared) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: new(r.Message.Text())}}
}
