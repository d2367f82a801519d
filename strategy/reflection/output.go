package reflection

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// hear adds a reply to the conversation.
func (s *reflection) hear(m messages.Assistant) {
	if !m.Empty() {
		s.History = append(s.History, m)
	}
}

// keep keeps the available part of an incomplete draft.
func (s *reflection) keep(text string) {
	if strings.TrimSpace(text) != "" {
		s.scrap = text
	}
}

// say adds a prompt to the conversation, and returns it.
func (s *reflection) say(name string, data PromptData) string {
	text := s.prompt(name, data)
	s.History = append(s.History, messages.UserText(text))
	return text
}

// prompt fills in a template. If that fails, the strategy ends at its next step.
func (s *reflection) prompt(name string, data PromptData) string {
	data.Goal, data.Generator, data.JSON, data.MaxIterations = s.goal, s.Generator, s.JSONCritique, s.MaxIterations
	data.Iteration = len(s.critiques) + 1
	if s.draft != nil {
		data.Draft = *s.draft
	}
	return s.Prompt(name, data)
}

// notRun answers calls that are not run, for one of the reasons of PromptData.Why.
func (s *reflection) notRun(calls []messages.ToolCall, why string) {
	for _, c := range calls {
		s.History = append(s.History, frame.NotRun(c, "not_run", s.prompt("NotRun", PromptData{Why: why})))
	}
}

// again tells the model why its reply was not a draft, and asks again. If no retry is left, it
// fails with the code and the problem.
func (s *reflection) again(data PromptData, code delegation.Code, problem string) nextstep.NextStep {
	if !s.Can(reasked) {
		return s.Abort(code, fmt.Errorf("reflection: the model wrote no draft: its reply %s", problem))
	}
	s.say("Again", data)
	return s.Fire(reasked, s.request())
}

// withheld ends after the provider withheld a reply or a part of it.
func (s *reflection) withheld(calls []messages.ToolCall) nextstep.NextStep {
	s.notRun(calls, whyWithheld)
	what := "a draft"
	if s.State() == critiquing {
		what = "a critique"
	}
	return s.Abort(delegation.Code(llmclient.CodeContentFilter), fmt.Errorf("reflection: the provider withheld %s, or a part of it", what))
}

// Reached implements frame.Converser.
func (s *reflection) Reached() delegation.Output {
	out := delegation.Output{Messages: s.History.Clip(), Result: s.draft, Data: s.data, Metadata: s.metadata()}
	if out.Result == nil && s.scrap != "" {
		scrap := s.scrap
		out.Result = &scrap
	}
	return out
}

// broken returns the work done so far when a step was not performed. For a request it leaves the
// messages to the Machine, which knows the received part of a reply. For a delegation it returns
// them.
func (s *reflection) broken() delegation.Output {
	out := s.Reached()
	switch s.State() {
	case delegatingDraft, delegatingRevision:
	default:
		if frame.MustConclude(s.History) != messages.ReasonRepetition { // the request tells it in words
			out.Messages = nil
		}
	}
	return out
}

// metadata describes the work. All its values can be encoded.
func (s *reflection) metadata() delegation.Metadata {
	n := len(s.critiques)
	m := delegation.Metadata{"iterations": strconv.AppendInt(nil, int64(n), 10)}
	_ = m.Set("approved", s.isApproved())
	frame.SetList(&m, "critiques", s.critiques)
	s.Describe(&m)
	return m
}

// isApproved reports whether the last draft was approved.
func (s *reflection) isApproved() bool {
	n := len(s.critiques)
	return n > 0 && s.critiques[n-1].Approved
}
