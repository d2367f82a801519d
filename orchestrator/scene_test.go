package orchestrator_test

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// scene is a strategy for tests: each method is a function, and one that is nil reports an error.
type scene struct {
	start   func(delegation.Input) nextstep.NextStep
	reply   func(llmclient.Response) nextstep.NextStep
	results func([]messages.ToolOutput) nextstep.NextStep
	child   func(delegation.Output) nextstep.NextStep
	strategy.Defaults
}

func (s *scene) Initialize(in delegation.Input) nextstep.NextStep {
	if s.start == nil {
		return ask(in.Goal)
	}
	return s.start(in)
}

func (s *scene) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if s.reply == nil {
		return done(r.Message.Text())
	}
	return s.reply(r)
}

func (s *scene) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	if s.results == nil {
		return s.Defaults.ProcessToolResults(r)
	}
	return s.results(r)
}

func (s *scene) ProcessDelegationResult(o delegation.Output) nextstep.NextStep {
	if s.child == nil {
		return s.Defaults.ProcessDelegationResult(o)
	}
	return s.child(o)
}

func ask(text string, offered ...string) nextstep.NextStep {
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText(text)}}}
	for _, name := range offered {
		step.Request.Tools = append(step.Request.Tools, tools.Definition{Name: name})
	}
	return step
}

func done(text string) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: &text}}
}

func said(text string) nextstep.APIResponse {
	return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText(text), Usage: messages.Usage{Input: 10, Output: 1}}}
}

// calling is a reply that calls each of the tools once, with the ids c1, c2, ….
func calling(names ...string) nextstep.APIResponse {
	var a messages.Assistant
	for i, n := range names {
		a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprintf("c%d", i+1), Name: n, Arguments: "{}"})
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: a}}
}

func only(s func() *scene) map[string]func() *scene { return map[string]func() *scene{"main": s} }

// caller asks once, makes the calls of the reply, and is done.
func caller() strategy.Strategy {
	return &scene{
		start:   func(delegation.Input) nextstep.NextStep { return ask("x", "t") },
		reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
		results: func([]messages.ToolOutput) nextstep.NextStep { return done("ok") },
	}
}
