package reasonactobserve

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
)

// compactions returns the greatest number of model calls that Compact adds: for summaries, and for
// steps that begin again because a request was refused, which have up to five requests until then.
func (c Config) compactions() int {
	r, _ := compaction.New(c.Compact)
	return r.Summaries() + 5*r.Refusals()
}

// compileCompaction checks Compact, and sets the values of its caps.
func (s *settings) compileCompaction() (err error) {
	s.compaction, err = compaction.New(s.Compact)
	s.Caps[capSummaries], s.Caps[capRefusals] = s.compaction.Summaries(), s.compaction.Refusals()
	return err
}

// measure measures a request, so that its usage says how long others are.
func (s *reasonActObserve) measure(step nextstep.NextStep) {
	if ask, ok := step.(nextstep.GetChatCompletion); ok && !ask.Aside {
		s.compact.Due(&ask.Request)
	}
}

// askModel asks the model at the beginning of a step, after a compaction if the conversation has
// become too long.
func (s *reasonActObserve) askModel(on strategy.Trigger, step nextstep.GetChatCompletion) nextstep.NextStep {
	if s.PromptErr() != nil || !s.compact.Due(&step.Request) || !s.compact.Begin(s.history) {
		return s.then(on, step)
	}
	return s.compactFirst(on)
}

// compactFirst makes the conversation shorter, and then asks the model.
func (s *reasonActObserve) compactFirst(on strategy.Trigger) nextstep.NextStep {
	if s.compact.Summarizes() && s.Can(filled) {
		if step, ok := s.compact.Ask(s.history, s.Model); ok {
			if s.pending = on; on == noted { // as before any other step
				s.pending = again
			}
			return s.Then(filled, step)
		}
	}
	if on == shortened {
		on = trimmed
	}
	return s.resume(on, s.compact.Trim(s.history))
}

// summarized processes the summary.
func (s *reasonActObserve) summarized(resp llmclient.Response) nextstep.NextStep {
	s.asked++
	return s.resume(s.pending, s.compact.Summarized(s.history, resp))
}

// resume goes on with the shorter conversation: with the last request, or at the beginning of the
// step.
func (s *reasonActObserve) resume(on strategy.Trigger, history messages.History) nextstep.NextStep {
	s.pending = ""
	s.history = s.Told(history)
	s.before, s.results = len(s.history), nil // what a refused step did is in the conversation
	var step nextstep.GetChatCompletion
	if on == exhausted || s.State() == Concluding {
		step = s.request(s.history)
	} else {
		step = s.reason()
	}
	return s.then(on, s.compact.Declare(step))
}

// tooLong processes a failed request that was too long, and a failed request for a summary. It
// returns nil for other failures, and if nothing can be done.
func (s *reasonActObserve) tooLong(f nextstep.Failure) nextstep.NextStep {
	switch {
	case s.State() == Compacting:
		s.asked++
		return s.resume(s.pending, s.compact.Failed(s.history, f))
	case s.Can(trimmed) && s.compact.Refused(f) && s.compact.Begin(s.history): // the cap of trimmed is that of shortened
		s.asked++
		return s.compactFirst(shortened)
	default:
		return nil
	}
}
