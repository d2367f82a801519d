package react

import (
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
)

// compactions returns the greatest number of model calls that Compact adds: for summaries, and for
// requests that were refused and are made again.
func (c Config) compactions() int {
	r, _ := compaction.New(c.Compact)
	return r.Summaries() + r.Refusals()
}

// compileCompaction checks Compact, and sets the values of its caps.
func (s *settings) compileCompaction() (err error) {
	s.compaction, err = compaction.New(s.Compact)
	s.Caps[capSummaries], s.Caps[capRefusals] = s.compaction.Summaries(), s.compaction.Refusals()
	return err
}

// askModel asks the model, after a compaction if the conversation has become too long.
func (s *react) askModel(on strategy.Trigger, step nextstep.GetChatCompletion) nextstep.NextStep {
	if !s.compact.Due(&step.Request) || !s.compact.Begin(s.history) {
		return s.Then(on, step)
	}
	return s.compactFirst(on)
}

// compactFirst makes the conversation shorter, and then asks the model.
func (s *react) compactFirst(on strategy.Trigger) nextstep.NextStep {
	if s.compact.Summarizes() && s.Can(filled) {
		if step, ok := s.compact.Ask(s.history, s.Model); ok {
			if s.pending = on; on == searched || on == noted { // as after other calls
				s.pending = observed
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
func (s *react) summarized(resp llmclient.Response) nextstep.NextStep {
	return s.resume(s.pending, s.compact.Summarized(s.history, resp))
}

// resume goes on with the shorter conversation: it makes the request that the compaction was for.
func (s *react) resume(on strategy.Trigger, history messages.History) nextstep.NextStep {
	s.pending = ""
	if err := s.rewrite(history); err != nil {
		return s.fail(delegation.CodeInvalid, err)
	}
	step := s.request()
	if on == exhausted || s.State() == Concluding {
		step = s.concluding()
	}
	return s.Then(on, s.compact.Declare(step))
}

// rewrite begins both forms of the conversation anew, with the prompts and unusable replies at the
// end that only the text has, and the notes among them.
func (s *react) rewrite(history messages.History) error {
	end := slices.Clone(s.text[len(s.text)-s.aside:])
	s.history, s.ids = history[:len(history)-s.asideNotes], idsIn(history)
	if err := s.openText(); err != nil {
		return err
	}
	s.history = history
	s.text = append(s.text.Clip(), end...)
	return nil
}

// tooLong processes a failed request that was too long, and a failed request for a summary. It
// returns nil for other failures, and if nothing can be done.
func (s *react) tooLong(f nextstep.Failure) nextstep.NextStep {
	switch {
	case s.State() == Compacting:
		return s.resume(s.pending, s.compact.Failed(s.history, f))
	case s.Can(trimmed) && s.compact.Refused(f) && s.compact.Begin(s.history): // the cap of trimmed is that of shortened
		return s.compactFirst(shortened)
	default:
		return nil
	}
}

// compactMemory is the part of a memory that compaction needs.
type compactMemory struct {
	compaction.State
	Pending strategy.Trigger `json:"pending,omitempty"`     // what is due after the summary that is awaited
	Aside   int              `json:"aside,omitempty"`       // number of messages at the end of text that history does not have
	Notes   int              `json:"aside_notes,omitempty"` // number of notes among them, which history has
	Call    int              `json:"call,omitempty"`        // number of the last call: the history may not have it any more
}

func (s *react) compactMemory() *compactMemory {
	state := s.compact.State()
	if state == nil {
		return nil
	}
	return &compactMemory{State: *state, Pending: s.pending, Aside: s.aside, Notes: s.asideNotes, Call: s.call}
}

// restoreCompact reports false if the memory does not fit.
func (s *react) restoreCompact(m *compactMemory) bool {
	if m == nil {
		return s.compact.Restore(nil, s.history)
	}
	s.pending, s.aside, s.asideNotes, s.call = m.Pending, m.Aside, m.Notes, m.Call
	return s.aside >= 0 && s.aside <= len(s.text) && s.asideNotes >= 0 && s.asideNotes <= min(s.aside, len(s.history)) && s.call >= 0 && s.compact.Restore(&m.State, s.history)
}
