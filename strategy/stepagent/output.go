package stepagent

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// finish ends with an answer. If the final tool must be called, it reminds the model instead, and
// the next iteration should begin.
func (s *stepAgent) finish(text string) nextstep.NextStep {
	last, ok := s.History.Last().(messages.Assistant)
	if text != "" && (!ok || last.Text() != text) {
		s.History = append(s.History, messages.AssistantText(text))
	}
	if s.FinalTool == "" || s.reminders == s.MaxReminders || s.iteration == s.MaxIterations {
		return s.done(&text)
	}
	remind, err := s.prompt("Remind")
	if err != nil {
		return s.fail(delegation.NewError(delegation.CodeInvalid, err))
	}
	s.reminders++
	s.answer, s.aligned = &text, false
	s.History = append(s.History, messages.UserText(remind))
	return nil
}

// done ends with an answer.
func (s *stepAgent) done(answer *string) nextstep.NextStep {
	if answer != nil && *answer != "" {
		if last, ok := s.History.Last().(messages.Assistant); !ok || last.Text() != *answer {
			s.History = append(s.History, messages.AssistantText(*answer))
		}
	}
	out := s.Reached()
	out.Result = answer
	return s.Then(finished, nextstep.Complete{Output: out})
}

// limited ends because no iteration is left.
func (s *stepAgent) limited() nextstep.NextStep {
	return s.Then(gaveUp, nextstep.ReportError{
		Err:    &delegation.Error{Code: delegation.CodeLimit, Message: fmt.Sprintf("stepagent: Max iterations reached: %d", s.MaxIterations)},
		Output: s.Reached(),
	})
}

// fail ends with an error and the work done so far.
func (s *stepAgent) fail(err error) nextstep.NextStep {
	return s.Fail(err, s.Reached())
}

// Reached implements frame.Converser: the work done so far, with the last text.
func (s *stepAgent) Reached() delegation.Output {
	var m delegation.Metadata
	set := func(name string, v any) { _ = m.Set(name, v) } // all these values can be encoded
	set("iterations", s.iteration)
	set("model_calls", s.Asked)
	frame.SetList(&m, "notes", s.notes)
	if s.plan != "" {
		set("plan", s.plan)
	}
	if s.failures > 0 {
		set("plan_failures", s.failures)
	}
	s.Describe(&m)
	return delegation.Output{Messages: s.History.Clip(), Result: s.answer, Metadata: m}
}
