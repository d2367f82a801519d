package completetask

import (
	"cmp"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*completeTask)(nil)

// answerAgain keeps an answer, and asks the model again, which then sees the notes. The answer is
// the Result of a run that ends with an error before there is another.
func (s *completeTask) answerAgain(answer string) nextstep.NextStep {
	s.pieces, s.refused = nil, cmp.Or(s.joined(answer), s.refused)
	return s.AskModel(noted, s.request())
}
