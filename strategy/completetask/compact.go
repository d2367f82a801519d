package completetask

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/frame"
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
func (s *completeTask) askModel(on strategy.Trigger, step nextstep.GetChatCompletion) nextstep.NextStep {
	if !s.compact.Due(&step.Request) || !s.compact.Begin(s.history) {
		return s.Then(on, step)
	}
	return s.compactFirst(on, step.Anew)
}

// compactFirst makes the conversation shorter, and then asks the model. news says why the request
// would not extend the last one even without that, or is nil.
func (s *completeTask) compactFirst(on strategy.Trigger, news *string) nextstep.NextStep {
	s.news = news
	if s.compact.Summarizes() && s.Can(filled) {
		if step, ok := s.compact.Ask(s.history, s.Model); ok {
			s.pending = afterSummary(on)
			return s.Then(filled, step)
		}
	}
	if on == shortened {
		on = trimmed
	}
	s.history = s.compact.Trim(s.history)
	return s.resume(on)
}

// afterSummary returns what is due after a summary that was asked for in the place of on. After a
// search, and after an answer to which a note came, this is the same as after other calls.
func afterSummary(on strategy.Trigger) strategy.Trigger {
	switch on {
	case searched, noted:
		return answered
	case lastSearch:
		return exhausted
	default:
		return on
	}
}

// summarized processes the summary.
func (s *completeTask) summarized(resp llmclient.Response) nextstep.NextStep {
	s.asked++
	s.history = s.compact.Summarized(s.history, resp)
	return s.resume(s.pending)
}

// resume makes the request that the compaction was for.
func (s *completeTask) resume(on strategy.Trigger) nextstep.NextStep {
	s.pending = ""
	step := s.request()
	if on == exhausted || on == lastSearch || s.State() == Concluding {
		step = s.concluding()
	}
	step.Anew, s.news = s.news, nil
	return s.Then(on, s.compact.Declare(step))
}

// tooLong processes a failed request that was too long, and a failed request for a summary. It
// returns nil for other failures, and if nothing can be done.
func (s *completeTask) tooLong(f nextstep.Failure) nextstep.NextStep {
	switch {
	case s.State() == Compacting:
		s.asked++
		s.history = s.compact.Failed(s.history, f)
		return s.resume(s.pending)
	case s.Can(trimmed) && s.compact.Refused(f) && s.compact.Begin(s.history): // the cap of trimmed is that of shortened
		s.asked++
		return s.compactFirst(shortened, nil)
	default:
		return nil
	}
}

// compacting returns the conversation while a summary of it is awaited, or an answer to a request
// that tells it in words, and nil otherwise.
func (s *completeTask) compacting() messages.History {
	if s.State() != Compacting && frame.MustConclude(s.history) != messages.ReasonRepetition {
		return nil
	}
	return s.history.Clip()
}
