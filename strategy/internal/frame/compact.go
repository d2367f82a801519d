package frame

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/internal/compact"
)

// The states, triggers and caps of a strategy with compaction. Concluding awaits the last request,
// which has no tools.
const (
	Compacting strategy.State = "compacting" // awaits a summary of old messages
	Concluding strategy.State = "concluding"

	Exhausted strategy.Trigger = "exhausted" // nothing is left but the last request
	Filled    strategy.Trigger = "filled"    // the conversation is too long: a summary is asked for
	Shortened strategy.Trigger = "shortened" // there is one: a request that was refused is made again
	Trimmed   strategy.Trigger = "trimmed"   // a request was refused, and is made again without old messages

	CapSummaries = "summaries" // see compaction.Config
	CapRefusals  = "refusals"  // compact.MaxRefusals
)

// CompileCompaction checks the Compact of a Config, whose model writes summaries, and sets the
// values of its caps. Of a trigger in after, the other one is due after a summary.
func (s *Settings) CompileCompaction(cfg *compaction.Config, model string, after map[strategy.Trigger]strategy.Trigger) (err error) {
	s.compaction, err = compact.New(cfg)
	s.Caps[CapSummaries], s.Caps[CapRefusals] = s.compaction.Summaries(), s.compaction.Refusals()
	s.model, s.after = model, after
	return err
}

// AskModel asks the model, after a compaction if the conversation has become too long.
func (c *Conversation) AskModel(on strategy.Trigger, step nextstep.GetChatCompletion) nextstep.NextStep {
	if first := c.Shorten(on, step); first != nil {
		return first
	}
	return c.Then(on, step)
}

// Shorten makes the conversation shorter before a request, if it has become too long. It returns
// nil if not.
func (c *Conversation) Shorten(on strategy.Trigger, step nextstep.GetChatCompletion) nextstep.NextStep {
	if !c.Compact.Due(&step.Request) || !c.Compact.Begin(c.History) {
		return nil
	}
	return c.shorten(on, step.Anew)
}

// shorten makes the conversation shorter, and then asks the model. news says why the request would
// not extend the last one even without that, or is nil.
func (c *Conversation) shorten(on strategy.Trigger, news *string) nextstep.NextStep {
	c.News = news
	if c.Compact.Summarizes() && c.Can(Filled) {
		if step, ok := c.Compact.Ask(c.History, c.settings.model); ok {
			c.Pending = on
			if other, ok := c.settings.after[on]; ok {
				c.Pending = other
			}
			return c.Then(Filled, step)
		}
	}
	if on == Shortened {
		on = Trimmed
	}
	return c.self.Resume(on, c.Compact.Trim(c.History))
}

// Summarized processes the summary.
func (c *Conversation) Summarized(resp llmclient.Response) nextstep.NextStep {
	c.Asked++
	return c.self.Resume(c.due(), c.Compact.Summarized(c.History, resp))
}

// due returns what is due after the summary.
func (c *Conversation) due() strategy.Trigger {
	on := c.Pending
	c.Pending = ""
	return on
}

// Concludes reports whether the request that a compaction was for is the last one.
func (c *Conversation) Concludes(on strategy.Trigger) bool {
	return on == Exhausted || c.State() == Concluding
}

// TooLong processes a failed request that was too long, and a failed request for a summary. It
// returns nil for other failures, and if nothing can be done.
func (c *Conversation) TooLong(f nextstep.Failure) nextstep.NextStep {
	switch {
	case c.State() == Compacting:
		c.Asked++
		return c.self.Resume(c.due(), c.Compact.Failed(c.History, f))
	case c.Can(Trimmed) && c.Compact.Refused(f) && c.Compact.Begin(c.History): // the cap of Trimmed is that of Shortened
		c.Asked++
		return c.shorten(Shortened, nil)
	default:
		return nil
	}
}
