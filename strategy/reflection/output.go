package reflection

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// hear adds a reply to the conversation.
func (s *reflection) hear(m messages.Assistant) {
	if !m.Empty() {
		s.history = append(s.history, m)
	}
}

// keep keeps what there is of a draft that is not whole.
func (s *reflection) keep(text string) {
	if strings.TrimSpace(text) != "" {
		s.scrap = text
	}
}

// say adds a prompt to the conversation, and returns it.
func (s *reflection) say(name string, data PromptData) string {
	text := s.prompt(name, data)
	s.history = append(s.history, messages.UserText(text))
	return text
}

// prompt fills in a template. One that fails on its data ends the strategy with its next step.
func (s *reflection) prompt(name string, data PromptData) string {
	data.Goal, data.Generator, data.JSON, data.MaxIterations = s.goal, s.Generator, s.JSONCritique, s.MaxIterations
	data.Iteration = len(s.critiques) + 1
	if s.draft != nil {
		data.Draft = *s.draft
	}
	return s.Prompt(name, data)
}

// then fires a trigger with a step that was made of prompts.
func (s *reflection) then(on strategy.Trigger, step nextstep.NextStep) nextstep.NextStep {
	if err := s.PromptErr(); err != nil {
		return s.fail(delegation.CodeInvalid, err)
	}
	return s.Then(on, step)
}

// notRun answers calls that are not run, for one of the reasons of PromptData.Why.
func (s *reflection) notRun(calls []messages.ToolCall, why string) {
	for _, c := range calls {
		s.history = append(s.history, frame.NotRun(c, "not_run", s.prompt("NotRun", PromptData{Why: why})))
	}
}

// again tells the model why its reply was no draft, and asks once more; with no retry left it
// fails, with the code and the problem.
func (s *reflection) again(data PromptData, code delegation.Code, problem string) nextstep.NextStep {
	if !s.Can(reasked) {
		return s.fail(code, fmt.Errorf("reflection: the model wrote no draft: its reply %s", problem))
	}
	s.say("Again", data)
	return s.then(reasked, s.request())
}

// withheld ends with a reply that the provider withheld, or a part of it.
func (s *reflection) withheld(calls []messages.ToolCall) nextstep.NextStep {
	s.notRun(calls, whyWithheld)
	what := "a draft"
	if s.State() == Critiquing {
		what = "a critique"
	}
	return s.fail(delegation.Code(llmclient.CodeContentFilter), fmt.Errorf("reflection: the provider withheld %s, or a part of it", what))
}

// fail ends with an error and what was reached.
func (s *reflection) fail(code delegation.Code, err error) nextstep.NextStep {
	return s.Fail(delegation.NewError(code, err), s.output())
}

// output is what was reached.
func (s *reflection) output() delegation.Output {
	out := delegation.Output{Messages: s.history.Clip(), Result: s.draft, Data: s.data, Metadata: s.metadata()}
	if out.Result == nil && s.scrap != "" {
		scrap := s.scrap
		out.Result = &scrap
	}
	return out
}

// broken is what was reached when a step was not performed. The Machine knows what had arrived of a
// reply, so the messages of a request are left to it; those of a delegation stand here alone.
func (s *reflection) broken() delegation.Output {
	out := s.output()
	switch s.State() {
	case DelegatingDraft, DelegatingRevision:
	default:
		out.Messages = nil
	}
	return out
}

// metadata tells about the work. Nothing in it can fail to encode.
func (s *reflection) metadata() delegation.Metadata {
	n := len(s.critiques)
	m := delegation.Metadata{"iterations": strconv.AppendInt(nil, int64(n), 10)}
	_ = m.Set("approved", s.isApproved())
	frame.SetList(&m, "critiques", s.critiques)
	frame.SetList(&m, "repaired", s.repaired)
	return m
}

// isApproved reports whether the last draft was approved.
func (s *reflection) isApproved() bool {
	n := len(s.critiques)
	return n > 0 && s.critiques[n-1].Approved
}
