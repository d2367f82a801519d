// Package compact makes conversations shorter, as package compaction says.
//
// It is pure: it decides, and a strategy asks, like this, where h is its conversation, request
// makes a request of it, and model is the one of its requests:
//
//	Initialize:          c.Start(h), then ask
//	ask:                 if c.Due(&request) && c.Begin(h): return c.Ask(h, model), in a state of
//	                     its own; otherwise the request
//	the reply to Ask:    h = c.Summarized(h, reply), then c.Declare(request)
//	its failure:         h = c.Failed(h, failure), then c.Declare(request)
//	any other reply:     c.Answered(reply.Usage)
//	any other failure:   if c.Refused(failure) && c.Begin(h): as in ask
package compact

import (
	"cmp"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy/compaction"
)

// Why a compaction was made, in nextstep.Compaction.
const (
	WhyWindow  = "window"         // the request came near the window, by the estimate
	WhyRefused = "context_length" // the provider refused the request
)

// anewSummary and anewCompacted say why a request does not extend the last one.
var (
	anewSummary   = new("a summary of old messages is asked for")
	anewCompacted = new("old messages were summarized or left out")
)

// Compactor makes the conversation of one frame shorter. See the package comment for what to call
// when. The zero Compactor, like one of nil Rules, never finds a compaction due. A Compactor is not
// safe for concurrent use.
type Compactor struct {
	rules *Rules
	state State
	meter meter
}

// State is what a Compactor remembers, in a form that a snapshot of its strategy can hold.
type State struct {
	Task     int                  `json:"task,omitempty"`     // index of the task in the conversation, from 1; 0: there is none
	Rate     int                  `json:"rate,omitempty"`     // tokens in 1024 bytes, by the last usage; 0: not known
	Window   int                  `json:"window,omitempty"`   // that a refusal told; 0: none did
	Measured int                  `json:"measured,omitempty"` // bytes of the last request
	Sent     bool                 `json:"sent,omitempty"`     // there was a request before the next one
	Refused  bool                 `json:"refused,omitempty"`  // the last compaction was due to a refusal, and no request has succeeded since
	Made     int                  `json:"made,omitempty"`     // compactions
	Failed   int                  `json:"failed,omitempty"`   // summaries that failed
	Cut      *cut                 `json:"cut,omitempty"`      // of the compaction that was begun
	Begun    *nextstep.Compaction `json:"begun,omitempty"`    // the compaction that was begun, and is not declared yet
}

// Compactor returns one for a new frame.
func (r *Rules) Compactor() Compactor { return Compactor{rules: r} }

// Start says what the conversation of the frame is at its beginning. Its last message of the user
// is the task of the frame, which stays.
func (c *Compactor) Start(h messages.History) {
	if c.rules == nil {
		return
	}
	c.state.Task = 0
	for i, m := range h {
		if u, ok := m.(messages.User); ok && !u.Summary {
			c.state.Task = i + 1
		}
	}
}

// Due reports whether a request is so long that the conversation should be made shorter first; then
// call [Compactor.Begin]. It must be called for each request that is not a summary.
func (c *Compactor) Due(r *llmclient.Request) bool {
	if c.rules == nil {
		return false
	}
	c.state.Sent = c.state.Sent || c.state.Measured > 0
	c.state.Measured = c.meter.request(r)
	limit := c.limit()
	return limit > 0 && c.tokens(c.state.Measured) > limit
}

// limit returns the number of tokens at which a compaction starts; 0 if no window is known.
func (c *Compactor) limit() int { return int(float64(c.window()) * c.rules.At) }

// window returns the number of tokens that the model reads; 0 if it is not known.
func (c *Compactor) window() int {
	if told := c.state.Window; told > 0 && (c.rules.Window == 0 || told < c.rules.Window) {
		return told
	}
	return c.rules.Window
}

// tokens returns what so many bytes are in tokens.
func (c *Compactor) tokens(bytes int) int { return tokens(bytes, cmp.Or(c.state.Rate, c.rules.rate)) }

// Answered takes the usage of the reply to the last request, so that the next estimate is better.
func (c *Compactor) Answered(u messages.Usage) {
	if c.rules == nil {
		return
	}
	c.state.Refused = false
	if rate := rateOf(c.state.Measured, u.Input); rate > 0 && u.Estimated == 0 {
		c.state.Rate = rate
	}
}

// Refused reports whether a failure of the last request calls for a compaction: the provider says
// that the request is too long, or refuses it in other words and it is longer than the window, by
// the estimate; and it did not do so already after the last compaction. Then Refused remembers
// about how long a request may be; call [Compactor.Begin].
func (c *Compactor) Refused(f nextstep.Failure) bool {
	if c.rules == nil || c.state.Refused {
		return false
	}
	beyond := c.window() > 0 && c.tokens(c.state.Measured) > c.window()
	if code := llmclient.Code(f.Code); code != llmclient.CodeContextLength && (code != llmclient.CodeBadRequest || !beyond) {
		return false
	}
	c.state.Refused, c.state.Sent = true, true
	c.state.Window = max(1, c.tokens(c.state.Measured)*3/4)
	return true
}

// Begin decides where to cut the conversation, on account of the last request. It reports false if
// there is nothing to cut: then go on as without a compaction. After true, call [Compactor.Trim],
// or make the step of [Compactor.Ask] and then call [Compactor.Summarized].
func (c *Compactor) Begin(h messages.History) bool {
	if c.rules == nil {
		return false
	}
	why := WhyWindow
	if c.state.Refused {
		why = WhyRefused
	}
	gap := 2*perMessage + len(c.rules.gap) // what stands for old messages at least
	limit := c.limit()
	least := limit / 16 // less than this is not worth a compaction
	if why == WhyRefused {
		least = 1
	}
	summary := c.allowance(limit)
	extra := max(0, c.state.Measured-sizeOf(h))
	var chosen *cut
	for _, at := range cuts(h, c.state.Task-1, c.rules.Keep) {
		p := at.split(h, c.state.Task-1)
		if p.fresh() <= gap || c.tokens(sizeOf(p.old)) < summary+least {
			continue
		}
		chosen = &at
		if c.tokens(extra+sizeOf(p.kept)+sizeOf(p.tail))+summary <= limit*3/4 {
			break
		}
	}
	if chosen == nil {
		return false
	}
	c.state.Cut = chosen
	c.state.Begun = &nextstep.Compaction{How: string(c.rules.How), Why: why, From: len(h), Before: c.tokens(c.state.Measured)}
	return true
}

// allowance returns the room that is left for what stands in place of old turns, in tokens.
func (c *Compactor) allowance(limit int) int {
	if c.rules.How == compaction.Trim {
		return c.tokens(len(c.rules.gap) + perMessage)
	}
	return min(c.rules.MaxTokens, limit/8)
}

// Summarizes reports whether old turns are to be summarized, as long as the cap of summaries
// allows.
func (c *Compactor) Summarizes() bool { return c.rules.Summaries() > 0 }

// Begun reports whether a compaction was begun and is not declared yet.
func (c *Compactor) Begun() bool { return c.state.Begun != nil }

// Ask returns the step that asks for a summary of what is old: of the model of the Config, or else
// of that of the strategy. If its prompt cannot be filled in, ok is false: call [Compactor.Trim].
func (c *Compactor) Ask(h messages.History, model string) (step nextstep.GetChatCompletion, ok bool) {
	p := c.state.Cut.split(h, c.state.Task-1)
	limit := c.limit()
	room := (limit - c.allowance(limit)) * unit / cmp.Or(c.state.Rate, c.rules.rate)
	data := compaction.PromptData{MaxWords: max(1, c.rules.MaxTokens/2), Messages: len(p.old)}
	if at := c.state.Task - 1; at >= 0 {
		task, _ := h[at].(messages.User)
		data.Task = shortened(task.Text(), max(shortest, room/8))
	}
	data.Transcript = transcript(p.old, max(shortest, room-len(data.Task)-1024))
	system, err := c.rules.texts.Fill("System", data)
	if err != nil {
		return step, false
	}
	request, err := c.rules.texts.Fill("Request", data)
	if err != nil {
		return step, false
	}
	step = nextstep.GetChatCompletion{Aside: true, Request: llmclient.Request{
		Model: cmp.Or(c.rules.Model, model), MaxTokens: c.rules.MaxTokens,
		Messages: messages.History{messages.System{Text: system}, messages.UserText(request)},
	}}
	if c.state.Sent {
		step.Anew = anewSummary
	}
	c.state.Sent = true
	return step, true
}

// Summarized returns the conversation with the summary that a model replied in place of what is
// old. If the reply is none, what is old is left out, and the declaration says why.
func (c *Compactor) Summarized(h messages.History, reply llmclient.Response) messages.History {
	text := strings.TrimSpace(reply.Message.Text())
	switch reply.Finish {
	case "", llmclient.FinishStop:
	case llmclient.FinishLength:
		return c.failed(h, "it was cut off")
	default:
		return c.failed(h, "the model ended with "+string(reply.Finish))
	}
	if text == "" {
		return c.failed(h, "it is empty")
	}
	p := c.state.Cut.split(h, c.state.Task-1)
	said, err := c.rules.texts.Fill("Summary", compaction.PromptData{Summary: text, Messages: len(p.old)})
	switch {
	case err != nil:
		return c.failed(h, err.Error())
	case len(said)+perMessage >= sizeOf(p.old):
		return c.failed(h, "it is longer than what it stands for")
	}
	c.state.Begun.How = string(compaction.Summarize)
	return c.replace(p, said)
}

// Failed is [Compactor.Summarized] for a request for a summary that failed.
func (c *Compactor) Failed(h messages.History, f nextstep.Failure) messages.History {
	return c.failed(h, shortened(f.Message, shortest))
}

func (c *Compactor) failed(h messages.History, why string) messages.History {
	c.state.Failed++
	h = c.Trim(h)
	c.state.Begun.Failed = why
	return h
}

// Trim returns the conversation without what is old. A summary among it stays.
func (c *Compactor) Trim(h messages.History) messages.History {
	p := c.state.Cut.split(h, c.state.Task-1)
	c.state.Begun.How = string(compaction.Trim)
	said := c.rules.gap
	for _, m := range p.old {
		if u, ok := m.(messages.User); ok && isSummary(m) && u.Text() != c.rules.gap {
			said = u.Text() // the last one: it has what was in the others
		}
	}
	if said != c.rules.gap {
		said = strings.TrimSuffix(said, "\n\n"+c.rules.gap) + "\n\n" + c.rules.gap
	}
	return c.replace(p, said)
}

// replace returns the conversation with a text in place of what is old.
func (c *Compactor) replace(p parts, text string) messages.History {
	m := messages.UserText(text)
	m.Summary, m.Untrusted = true, p.untrusted()
	c.state.Task = p.task + 1
	c.state.Begun.Kept = len(p.kept) + len(p.tail)
	c.state.Made++
	c.state.Cut = nil
	return p.with(m)
}

// Declare says in a request that it is the first one after a compaction, in addition to what the
// request declares itself. If there was none since the last one, it returns the step as it is.
func (c *Compactor) Declare(step nextstep.GetChatCompletion) nextstep.GetChatCompletion {
	if c.state.Begun == nil {
		return step
	}
	if c.state.Sent {
		step.Anew = declared(step.Anew)
	}
	c.Due(&step.Request)
	c.state.Begun.After = c.tokens(c.state.Measured)
	step.Compacted, c.state.Begun = c.state.Begun, nil
	return step
}

// declared adds what a request declares itself to what it declares because of the compaction.
func declared(own *string) *string {
	if own == nil {
		return anewCompacted
	}
	return new(*anewCompacted + "; " + *own)
}

// Counts returns how many compactions there were, and how many summaries failed.
func (c *Compactor) Counts() (made, failed int) { return c.state.Made, c.state.Failed }

// State returns what the Compactor remembers; nil if it compacts nothing. It must not be changed.
func (c *Compactor) State() *State {
	if c.rules == nil {
		return nil
	}
	return &c.state
}

// Restore takes what a Compactor remembered, of a frame with that conversation; nil if it compacted
// nothing, and then it is as after [Compactor.Start]. It reports false if that does not fit.
func (c *Compactor) Restore(s *State, h messages.History) bool {
	length := len(h)
	switch {
	case s == nil:
		c.Start(h)
		return true
	case c.rules == nil:
		return s.Cut == nil
	case s.Task < 0, s.Task > length, (s.Cut == nil) != (s.Begun == nil), s.Cut != nil && (s.Cut.At < 0 || s.Cut.At > length):
		return false
	}
	c.state = *s
	return true
}
