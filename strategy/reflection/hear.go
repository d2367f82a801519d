package reflection

import (
	"strings"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*reflection)(nil)

// hasNews reports whether an approved draft is revised: whoever writes drafts has not seen a note,
// and a draft is left for it.
func (s *reflection) hasNews() bool {
	return s.Generator == "" && s.HasNews(noted) || s.Generator != "" && s.HasNews(notedBack)
}

// reviseNoted revises an approved draft because of the notes.
func (s *reflection) reviseNoted(data PromptData) nextstep.NextStep {
	if s.Generator != "" {
		return s.Fire(notedBack, s.delegate(s.withNotes(s.say("Revise", data))))
	}
	s.say("Revise", data)
	step := s.request()
	step.Anew = s.unlike(anewRevision)
	return s.Fire(noted, step)
}

// withNotes returns the goal of a generator with the notes at its end. They are added to the
// conversation, too.
func (s *reflection) withNotes(goal string) string {
	notes := s.Untold()
	s.History = s.Told(s.History)
	return strings.Join(append([]string{goal}, notes...), "\n\n")
}
