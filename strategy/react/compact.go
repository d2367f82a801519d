package react

import (
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/compact"
)

// afterSummary says what is due after a summary that was asked for in the place of another trigger:
// the same as after other calls.
var afterSummary = map[strategy.Trigger]strategy.Trigger{searched: observed, noted: observed}

// Resume implements frame.Converser.
func (s *react) Resume(on strategy.Trigger, h messages.History) nextstep.NextStep {
	if err := s.rewrite(h); err != nil {
		return s.Abort(delegation.CodeInvalid, err)
	}
	step := s.request()
	if s.Concludes(on) {
		step = s.concluding()
	}
	return s.Then(on, s.Compact.Declare(step))
}

// rewrite begins both forms of the conversation anew, with the prompts and unusable replies at the
// end that only the text has, and the notes among them.
func (s *react) rewrite(history messages.History) error {
	end := slices.Clone(s.text[len(s.text)-s.aside:])
	s.History, s.ids = history[:len(history)-s.asideNotes], idsIn(history)
	if err := s.openText(); err != nil {
		return err
	}
	s.History = history
	s.text = append(s.text.Clip(), end...)
	return nil
}

// compactMemory is the part of a memory that compaction needs.
type compactMemory struct {
	compact.State
	Pending strategy.Trigger `json:"pending,omitempty"`     // what is due after the summary that is awaited
	Aside   int              `json:"aside,omitempty"`       // number of messages at the end of text that history does not have
	Notes   int              `json:"aside_notes,omitempty"` // number of notes among them, which history has
	Call    int              `json:"call,omitempty"`        // number of the last call: the history may not have it any more
}

func (s *react) compactMemory() *compactMemory {
	state := s.Compact.State()
	if state == nil {
		return nil
	}
	return &compactMemory{State: *state, Pending: s.Pending, Aside: s.aside, Notes: s.asideNotes, Call: s.call}
}

// restoreCompact reports false if the memory does not fit.
func (s *react) restoreCompact(m *compactMemory) bool {
	if m == nil {
		return s.Compact.Restore(nil, s.History)
	}
	s.Pending, s.aside, s.asideNotes, s.call = m.Pending, m.Aside, m.Notes, m.Call
	return s.aside >= 0 && s.aside <= len(s.text) && s.asideNotes >= 0 && s.asideNotes <= min(s.aside, len(s.History)) && s.call >= 0 && s.Compact.Restore(&m.State, s.History)
}
