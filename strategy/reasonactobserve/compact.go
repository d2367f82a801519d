package reasonactobserve

import (
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// afterSummary says that the step after a note is due as any other.
var afterSummary = map[strategy.Trigger]strategy.Trigger{noted: again}

// askModel asks the model at the beginning of a step, after a compaction if the conversation has
// become too long.
func (s *reasonActObserve) askModel(on strategy.Trigger, step nextstep.GetChatCompletion) nextstep.NextStep {
	if s.PromptErr() == nil {
		if first := s.Shorten(on, step); first != nil {
			return first
		}
	}
	return s.then(on, step)
}

// Resume implements frame.Converser: it goes on with the last request, or at the beginning of the
// step.
func (s *reasonActObserve) Resume(on strategy.Trigger, h messages.History) nextstep.NextStep {
	s.History = s.Told(h)
	s.before, s.results = len(s.History), nil // what a refused step did is in the conversation
	step := s.request(s.History)
	if !s.Concludes(on) {
		step = s.reason()
	}
	return s.then(on, s.Compact.Declare(step))
}
