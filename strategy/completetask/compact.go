package completetask

import (
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// afterSummary says what is due after a summary that was asked for in the place of another trigger.
// After a search, and after an answer to which a note came, this is the same as after other calls.
var afterSummary = map[strategy.Trigger]strategy.Trigger{searched: answered, noted: answered, lastSearch: exhausted}

// Resume implements frame.Converser.
func (s *completeTask) Resume(on strategy.Trigger, h messages.History) nextstep.NextStep {
	s.History = h
	step := s.request()
	if s.Concludes(on) || on == lastSearch {
		step = s.concluding()
	}
	step.Anew, s.News = s.News, nil
	return s.Then(on, s.Compact.Declare(step))
}

// compacting returns the conversation while a summary of it is awaited, or an answer to a request
// that tells it in words, and nil otherwise.
func (s *completeTask) compacting() messages.History {
	if s.State() != frame.Compacting && frame.MustConclude(s.History) != messages.ReasonRepetition {
		return nil
	}
	return s.History.Clip()
}
