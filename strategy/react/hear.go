package react

import (
	"cmp"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*react)(nil)

// tell adds the notes to both forms of the conversation.
func (s *react) tell() {
	for _, note := range s.TakeNotes() {
		if s.aside > 0 {
			s.aside++
			s.asideNotes++
		}
		s.text = append(s.text, messages.UserText(note))
		s.History = append(s.History, messages.UserText(note))
	}
}

// answerAgain keeps the answer of a turn, and asks the model again, which then sees the notes.
func (s *react) answerAgain(m messages.Assistant, turn markdownpolicy.Turn) nextstep.NextStep {
	s.steps++
	s.keep(m, turn)
	s.implicit = false // the next one counts
	s.text = append(s.text, messages.AssistantText(cmp.Or(turn.Kept, m.Text())))
	s.aside, s.asideNotes = 0, 0
	return s.AskModel(noted, s.request())
}
