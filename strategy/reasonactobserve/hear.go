package reasonactobserve

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*reasonActObserve)(nil)

// goOn begins another step after an answer, which is in the conversation. The model then sees the
// notes.
func (s *reasonActObserve) goOn() nextstep.NextStep {
	s.TellNotes()
	s.step++
	s.results = nil
	return s.askModel(noted, s.reason())
}
