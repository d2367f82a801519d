package stepagent

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// carryOut performs the result of a step. It returns nil if the next iteration should begin.
func (s *stepAgent) carryOut(res StepResult) nextstep.NextStep {
	switch res.kind {
	case kindContinue:
		return s.add(res.add)
	case kindFinish:
		return s.finish(res.text)
	case kindToolCalls:
		return s.execute(res.calls)
	case kindAsk:
		return s.ask(res)
	case kindFail:
		if res.err == nil {
			res = s.misstep(delegation.CodeDefect, "the step failed with a nil error", nil)
		}
		return s.fail(res.err)
	default:
		return s.fail(s.misstep(delegation.CodeDefect, "the step returned the zero StepResult; make one with Continue, Finish, ToolCalls, Ask or Fail", nil).err)
	}
}

// add adds messages to the conversation.
func (s *stepAgent) add(add []messages.Message) nextstep.NextStep {
	for _, m := range add {
		a, ok := m.(messages.Assistant)
		if ok && a.Empty() {
			continue
		}
		s.History = append(s.History, m)
		s.aligned = false
		if text := a.Text(); text != "" {
			s.answer = &text
		}
	}
	if err := s.laws.Check(s.History); err != nil {
		return s.fail(s.misstep(delegation.CodeInvalid, "the step continued with messages that break the laws of a history", err).err)
	}
	return nil
}

// ask asks a model for a step.
func (s *stepAgent) ask(res StepResult) nextstep.NextStep {
	switch {
	case res.then == nil:
		return s.fail(s.misstep(delegation.CodeDefect, "the step asked without a function that takes the reply", nil).err)
	case s.asks == s.MaxAsks:
		return s.fail(s.misstep(delegation.CodeLimit, fmt.Sprintf("the step asked more than %d times", s.MaxAsks), nil).err)
	}
	on := asked
	if s.asks > 0 {
		on = reasked
	}
	s.asks++
	s.then = res.then
	s.aligned = len(res.request.Messages) == 0
	anew := s.anew(&res.request)
	if s.aligned {
		res.request.Messages = s.History.Clip()
	}
	if len(res.request.Messages) == 0 {
		return s.fail(s.misstep(delegation.CodeInvalid, "the step asked without messages: the input has neither a goal nor messages", nil).err)
	}
	return s.Then(on, nextstep.GetChatCompletion{Request: res.request, Anew: anew})
}

// execute runs the calls of a step.
func (s *stepAgent) execute(calls []messages.ToolCall) nextstep.NextStep {
	if len(calls) == 0 {
		return s.fail(s.misstep(delegation.CodeDefect, "the step returned no tool calls", nil).err)
	}
	message, whole := s.calling(calls)
	s.Calls = message.Calls()
	if err := (messages.History{message}).Validate(); duplicate(err) {
		return s.fail(s.misstep(delegation.CodeInvalid, "the step returned two tool calls with one id", err).err)
	}
	s.History = append(s.History, message)
	s.aligned = s.aligned && whole
	if text := message.Text(); text != "" {
		s.answer = &text
	}
	return s.Then(called, nextstep.ExecuteTools{Calls: s.Calls})
}

func duplicate(err error) bool {
	broken, ok := errors.AsType[*messages.LawError](err)
	return ok && broken.Law == messages.LawDuplicate
}

// calling returns the message with the calls. If they belong to the reply that this step asked for,
// it is that reply with these calls; otherwise it is a message with only the calls. whole means
// that it is the unchanged reply.
func (s *stepAgent) calling(calls []messages.ToolCall) (message messages.Assistant, whole bool) {
	if s.reply != nil {
		wanted := map[string]bool{}
		for _, c := range calls {
			wanted[c.ID] = true
		}
		kept, found := *s.reply, 0
		kept.Content = nil
		for _, part := range s.reply.Content {
			if c, ok := part.(messages.ToolCall); ok {
				if !wanted[c.ID] {
					continue
				}
				found++
			}
			kept.Content = append(kept.Content, part)
		}
		if found == len(calls) {
			return kept.WithCalls(calls), len(kept.Content) == len(s.reply.Content)
		}
	}
	for i, c := range calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("step%d_%d", s.iteration, i+1)
		}
		message.Content = append(message.Content, c)
	}
	return message, false
}
