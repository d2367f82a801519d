package stepagent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// prompt fills in a template.
func (s *stepAgent) prompt(name string) (string, error) {
	data := PromptData{
		Goal: s.in.Goal, Iteration: s.iteration, MaxIterations: s.MaxIterations, Plan: s.plan, FinalTool: s.FinalTool,
	}
	for _, d := range s.Defs {
		data.Tools = append(data.Tools, d.Name)
	}
	return s.Texts.Fill(name, data)
}

// makePlan asks for a plan.
func (s *stepAgent) makePlan() nextstep.NextStep {
	text, err := s.prompt("Plan")
	if err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, err))
	}
	s.aligned = false
	request := llmclient.Request{Model: s.PlanModel, Messages: append(s.History.Clip(), messages.UserText(text))}
	return s.Then(due, nextstep.GetChatCompletion{Request: request, Anew: s.anew(&request)})
}

// planned processes a plan, and takes the step that it was made for.
func (s *stepAgent) planned(resp llmclient.Response) nextstep.NextStep {
	text := strings.TrimSpace(resp.Message.Text())
	switch {
	case resp.Finish == llmclient.FinishContentFilter || resp.Finish == llmclient.FinishRefusal || frame.CutOff(resp.Finish):
		return s.unplanned(fmt.Errorf("stepagent: the reply is not a plan: the model stopped for the reason %q", resp.Finish))
	case text == "":
		return s.unplanned(errors.New("stepagent: the reply is not a plan: it is empty"))
	}
	s.plan, s.misplans = text, 0
	follow, err := s.prompt("Follow")
	if err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, err))
	}
	s.History = append(s.History, messages.AssistantText(text), messages.UserText(follow))
	return s.follow(s.take())
}

// unplanned skips a plan, or ends the run after too many failures in a row.
func (s *stepAgent) unplanned(cause error) nextstep.NextStep {
	s.misplans++
	s.failures++
	if s.misplans == s.MaxPlanFailures {
		return s.fail(delegation.AsError(cause))
	}
	return s.follow(s.take())
}
