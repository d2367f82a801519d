// Package scenetest holds a strategy for tests whose methods are functions, and steps and answers
// for such tests.
package scenetest

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Scene is a strategy for tests. Each method calls a function; without a function it asks, is done,
// or reports an error.
type Scene struct {
	Start   func(delegation.Input) nextstep.NextStep
	Reply   func(llmclient.Response) nextstep.NextStep
	Results func([]messages.ToolOutput) nextstep.NextStep
	Child   func(delegation.Output) nextstep.NextStep
	strategy.Defaults
}

// Initialize implements [strategy.Strategy].
func (s *Scene) Initialize(in delegation.Input) nextstep.NextStep {
	if s.Start == nil {
		return Ask(in.Goal)
	}
	return s.Start(in)
}

// ProcessAPIResponse implements [strategy.Strategy].
func (s *Scene) ProcessAPIResponse(r llmclient.Response) nextstep.NextStep {
	if s.Reply == nil {
		return Done(r.Message.Text())
	}
	return s.Reply(r)
}

// ProcessToolResults implements [strategy.Strategy].
func (s *Scene) ProcessToolResults(r []messages.ToolOutput) nextstep.NextStep {
	if s.Results == nil {
		return s.Defaults.ProcessToolResults(r)
	}
	return s.Results(r)
}

// ProcessDelegationResult implements [strategy.Strategy].
func (s *Scene) ProcessDelegationResult(o delegation.Output) nextstep.NextStep {
	if s.Child == nil {
		return s.Defaults.ProcessDelegationResult(o)
	}
	return s.Child(o)
}

// Ask asks a model, with these tools on offer.
func Ask(text string, offered ...string) nextstep.NextStep {
	step := nextstep.GetChatCompletion{Request: llmclient.Request{Messages: messages.History{messages.UserText(text)}}}
	for _, name := range offered {
		step.Request.Tools = append(step.Request.Tools, tools.Definition{Name: name})
	}
	return step
}

// Done completes the run with a text.
func Done(text string) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Result: &text}}
}

// Said is a reply with a text.
func Said(text string) nextstep.APIResponse {
	return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText(text), Usage: messages.Usage{Input: 10, Output: 1}}}
}

// Calling is a reply that calls each of the tools once, with the ids c1, c2, ….
func Calling(names ...string) nextstep.APIResponse {
	var a messages.Assistant
	for i, n := range names {
		a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprintf("c%d", i+1), Name: n, Arguments: "{}"})
	}
	return nextstep.APIResponse{Response: &llmclient.Response{Message: a}}
}

// Trimmer asks twice. In between, trim shortens its history, which then grows past its old length.
func Trimmer(trim func(messages.History) messages.History, start ...messages.Message) *Scene {
	h := append(slices.Grow(messages.History{}, 32), start...)
	request := func() nextstep.NextStep { return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: h}} }
	turn := 0
	return &Scene{
		Start: func(delegation.Input) nextstep.NextStep { return request() },
		Reply: func(llmclient.Response) nextstep.NextStep {
			if turn++; turn == 2 {
				return Done("ok")
			}
			h = append(trim(h), messages.UserText("1"), messages.UserText("2"), messages.UserText("3"))
			return request()
		},
	}
}
