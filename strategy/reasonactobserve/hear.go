package reasonactobserve

import (
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*reasonActObserve)(nil)

// tell adds the notes to the conversation, between two turns.
func (s *reasonActObserve) tell() { s.history = s.Told(s.history) }

// hasNews reports whether there is another step although the model has answered: it has not seen a
// note, and a step is left for it.
func (s *reasonActObserve) hasNews() bool { return len(s.Untold()) > 0 && s.Can(noted) }

// goOn begins another step after an answer, which is in the conversation. The model then sees the
// notes.
func (s *reasonActObserve) goOn() nextstep.NextStep {
	s.tell()
	s.step++
	s.results = nil
	return s.askModel(noted, s.reason())
}
