package completetask

import (
	"cmp"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*completeTask)(nil)

// hasNews reports whether the model is asked again although it has answered: it has not seen a
// note, and a model call with tools is left for it.
func (s *completeTask) hasNews() bool { return len(s.Untold()) > 0 && s.Can(noted) }

// answerAgain keeps an answer, and asks the model again, which then sees the notes. The answer is
// the Result of a run that ends with an error before there is another.
func (s *completeTask) answerAgain(answer string) nextstep.NextStep {
	s.pieces, s.refused = nil, cmp.Or(s.joined(answer), s.refused)
	return s.askModel(noted, s.request())
}
