package explore_test

import (
	"encoding/json"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// reply returns a twist of a reply.
func reply(f func(*pupil, llmclient.Response) nextstep.NextStep) twist { return twist{reply: f} }

// always returns a twist that answers each reply with a step.
func always(step func(*pupil) nextstep.NextStep) twist {
	return reply(func(p *pupil, _ llmclient.Response) nextstep.NextStep { return step(p) })
}

// results returns a twist of results.
func results(f func(*pupil, []messages.ToolOutput) nextstep.NextStep) twist { return twist{results: f} }

// moody is an error that cannot be read.
type moody struct{}

func (moody) Error() string { panic("oops") }

var brokenProtocol = []broken{
	{name: "panics at a reply", law: explore.Protocol, twist: always(func(*pupil) nextstep.NextStep { panic("oops") })},
	{name: "panics at a failure", law: explore.Protocol, twist: twist{failure: func(*pupil, nextstep.Failure) nextstep.NextStep { panic("oops") }}},
	{name: "panics in UseTools", law: explore.Protocol, twist: twist{uses: func(*pupil, []tools.Definition) { panic("oops") }}},
	{name: "panics in EditCalls", law: explore.Protocol, twist: twist{edit: func(*pupil, []messages.ToolCall) { panic("oops") }}},
	{name: "returns no step", law: explore.Protocol, twist: twist{child: func(*pupil, delegation.Output) nextstep.NextStep { return nil }}},
	{name: "returns a pointer to a step", law: explore.Protocol, twist: always(func(p *pupil) nextstep.NextStep { return new(p.done("text")) })},
	{name: "returns a nil pointer", law: explore.Protocol, twist: always(func(*pupil) nextstep.NextStep { return (*nextstep.Complete)(nil) })},
	{name: "has no rule for an answer", law: explore.Protocol, twist: always(func(p *pupil) nextstep.NextStep { return p.fsm.Then("surprised", p.done("text")) })},
	{name: "has another step than its table", law: explore.Protocol, twist: always(func(p *pupil) nextstep.NextStep { return p.fsm.Then("answered", p.request()) })},
	{name: "is stuck: refuses the answer that it asked for", law: explore.Protocol, twist: results(func(p *pupil, _ []messages.ToolOutput) nextstep.NextStep { return p.fsm.OutOfTurn() })},
	{name: "has an error that cannot be read", law: explore.Protocol, twist: always(func(p *pupil) nextstep.NextStep {
		return p.fsm.Then("gave up", nextstep.ReportError{Err: moody{}})
	})},
	{name: "reports no error", law: explore.Protocol, twist: always(func(p *pupil) nextstep.NextStep { return p.fsm.Then("gave up", nextstep.ReportError{}) })},
	{name: "asks with an empty conversation", law: explore.Protocol, twist: results(func(p *pupil, _ []messages.ToolOutput) nextstep.NextStep {
		return p.fsm.Then("acted", nextstep.GetChatCompletion{})
	})},
	{name: "has no calls made", law: explore.Protocol, twist: always(func(p *pupil) nextstep.NextStep { return p.fsm.Then("called", nextstep.ExecuteTools{}) })},
	{name: "has a call made twice at once", law: explore.Protocol, twist: reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		if step, ok := p.replied(r).(nextstep.ExecuteTools); ok {
			return nextstep.ExecuteTools{Calls: slices.Repeat(step.Calls, 2)}
		}
		return p.giveUp("no calls")
	})},
}

var brokenConversations = []broken{
	{name: "answers a call twice", law: explore.Request, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		return p.acted(slices.Repeat(r, 2))
	})},
	{name: "answers no call", law: explore.Request, twist: results(func(p *pupil, _ []messages.ToolOutput) nextstep.NextStep { return p.acted(nil) })},
	{name: "answers one of two calls", law: explore.Request, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		return p.acted(r[:1])
	})},
	{name: "answers a call that nobody made", law: explore.Request, twist: twist{child: func(p *pupil, out delegation.Output) nextstep.NextStep {
		p.say(messages.Tool{ToolOutput: messages.ToolOutput{CallID: "child", ToolName: "child", Output: out.Text()}})
		return p.helped(out)
	}}},
	{name: "forgets a call and keeps its result", law: explore.Request, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		p.History = p.History[: len(p.History)-1 : len(p.History)-1]
		return p.acted(r)
	})},
	{name: "speaks between a call and its result", law: explore.Request, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		p.say(messages.UserText("go on"))
		return p.acted(r)
	})},
	{name: "has a message that is none", law: explore.Request, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		p.acted(r)
		step := p.request()
		step.Request.Messages = append(step.Request.Messages, nil)
		return step
	})},
	{name: "begins a new conversation and does not say so", law: explore.Prefix, twist: results(func(p *pupil, _ []messages.ToolOutput) nextstep.NextStep {
		p.History = messages.History{messages.UserText("Once more.")}
		return p.fsm.Then("acted", p.request())
	})},
	{name: "completes over an open call", law: explore.Output, twist: reply(func(p *pupil, r llmclient.Response) nextstep.NextStep {
		p.say(r.Message)
		return p.fsm.Then("answered", p.done("text"))
	})},
	{name: "concludes with a result of no call", law: explore.Output, twist: twist{conclude: func(p *pupil) delegation.Output {
		return delegation.Output{Messages: append(p.History.Clip(), messages.Tool{ToolOutput: messages.ToolOutput{CallID: "none"}})}
	}}},
	{name: "has an output that is no JSON", law: explore.JSON, twist: always(func(p *pupil) nextstep.NextStep {
		done := p.done("text")
		done.Output.Data = json.RawMessage("{")
		return p.fsm.Then("answered", done)
	})},
	{name: "has metadata that are no JSON", law: explore.JSON, twist: always(func(p *pupil) nextstep.NextStep {
		done := p.done("text")
		done.Output.Metadata = delegation.Metadata{"steps": json.RawMessage("three")}
		return p.fsm.Then("answered", done)
	})},
	{name: "asks for what has no JSON form", law: explore.JSON, twist: results(func(p *pupil, r []messages.ToolOutput) nextstep.NextStep {
		step := p.acted(r).(nextstep.GetChatCompletion)
		step.Request.Extras = messages.Extras{"answer": json.RawMessage("{")}
		return step
	})},
}
