package tools

import (
	"context"
	"sync"
	"time"

	"github.com/segue-go/segue/messages"
)

// Running is a call that [Runner.Begin] began. Perform is called once. The other methods are safe
// for concurrent use with it and with each other.
//
// A call has one result: that of Perform, Exited or Abandon, whichever is first to make it; the
// others return the same one. Only a call that is Inline does not keep its result: whoever abandons
// such a call drops what Perform returns.
type Running struct {
	call      messages.ToolCall
	tool      Tool
	parent    context.Context // of Begin
	onPanic   func(messages.ToolCall, any, []byte)
	began     time.Time
	timeout   time.Duration // none if not positive
	maxResult int           // none if negative
	safe      bool          // cut off, it has had no effect or may run again
	untrusted bool
	refused   bool
	*shared   // nil if the call is Inline and not refused: then nothing of it is needed
}

// shared is what several goroutines look at of a call.
type shared struct {
	key          string
	ask          AskFunc
	progress     func(string)
	maxArguments int       // none if negative
	due          time.Time // when its time-out is over; zero if it has none

	mu       sync.Mutex
	state    state
	stopped  bool // what the tool asked was ended by a stop of the run
	out      messages.ToolOutput
	attached []messages.Attachment
	std      context.Context // nil until it is asked for
	cancel   context.CancelFunc
}

// state is how far a call has come.
type state uint8

const (
	ready  state = iota // the tool is not called yet
	called              // it is
	over                // the result is there
)

// Inline reports whether Perform needs no goroutine of its own: the tool has a method Inline that
// says true and its arguments are at most [DefaultMaxArguments] long, or the call is refused, so
// that no tool is called.
//
// A tool that is Inline is given the context of Begin as it is. It has no time-out, and is never
// cut off.
func (c *Running) Inline() bool { return c.refused || c.shared == nil }

// Due returns when the time-out of the call is over; ok is false if it has none.
func (c *Running) Due() (at time.Time, ok bool) {
	if c.shared == nil {
		return time.Time{}, false
	}
	return c.due, !c.due.IsZero()
}

// Perform calls the tool on this goroutine, and returns the result of the call.
//
//   - What goes wrong is the result: an unknown tool, arguments that are too long or wrong, an
//     error, a panic. An error whose methods panic, such as a typed nil, is a panic of its tool.
//   - If the context of Begin is done by now, the tool is not called, and the call fails as
//     interrupted. When it is done later, so is that of the tool, which is also done at its
//     time-out, with a [*TimeoutError] as cause.
//   - A call that returns no error has its result, however late. One that returns an error after
//     its context was done was cut off: it failed if its tool is ReadOnly or Idempotent, else its
//     status is unknown.
//   - A call whose error wraps [ErrSuspended] has no result, even if its context was done: what
//     stands in its place has [ReasonSuspended].
//   - A result is cut at MaxResult, with a line that says so; bytes that are not UTF-8 become
//     U+FFFD.
//
// Perform does not return when the tool ends its goroutine (runtime.Goexit): then [Running.Exited]
// makes the result.
func (c *Running) Perform() messages.ToolOutput {
	if c.shared == nil {
		return c.performInline()
	}
	if !c.start() {
		return c.out
	}
	o := c.callTool((*toolContext)(c))
	elapsed := c.elapsed()
	return c.finish(c.result(o, elapsed, c.cutOff(o, elapsed)))
}

func (c *Running) performInline() messages.ToolOutput {
	if c.parent.Err() != nil {
		return c.notStarted(messages.ReasonInterrupted)
	}
	return c.result(c.callTool(c.parent), c.elapsed(), "")
}

// Exited ends a call whose tool ended its goroutine, and returns its result. It is for whoever runs
// Perform, in a deferred function.
func (c *Running) Exited() messages.ToolOutput {
	out := c.result(outcome{exited: true}, c.elapsed(), "")
	if c.shared == nil {
		return out
	}
	return c.finish(out)
}

// Abandon gives a call up, and returns the result that stands for it: it was cut off as by the end
// of its context, and its tool may run on. A call that Perform has not begun failed, and its tool
// is never called. The reason is [ReasonTimeout] or [messages.ReasonInterrupted].
//
// Abandon ends the context of the tool. Nothing more is heard of the call: Progress, Ask and Attach
// do nothing from then on, but one that the tool is in at that moment may still end later.
func (c *Running) Abandon(reason string) messages.ToolOutput {
	out := c.abandoned(reason, c.elapsed())
	if c.shared == nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == ready {
		out = c.notStarted(reason)
	}
	return c.end(out)
}

func (c *Running) elapsed() time.Duration { return time.Since(c.began) }

// start reports whether the tool is to be called.
func (c *Running) start() bool {
	interrupted := c.parent.Err() != nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != ready {
		return false
	}
	if interrupted {
		c.end(c.notStarted(messages.ReasonInterrupted))
		return false
	}
	c.state = called
	return true
}

// finish ends the call with a result, unless it has one, and returns the one it has.
func (c *Running) finish(out messages.ToolOutput) messages.ToolOutput {
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Attachments = c.attached
	return c.end(out)
}

// end is finish with the lock held. It ends the context of the tool.
func (s *shared) end(out messages.ToolOutput) messages.ToolOutput {
	if s.state != over {
		s.out, s.state = out, over
	}
	if s.cancel != nil {
		s.cancel()
	}
	return s.out
}

// cutOff returns why the context of a call was done when its tool failed; "" if it was not.
func (c *Running) cutOff(o outcome, elapsed time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !o.failed:
		return ""
	case c.timeout > 0 && elapsed >= c.timeout:
		return ReasonTimeout
	case c.stopped || c.parent.Err() != nil:
		return messages.ReasonInterrupted
	default:
		return ""
	}
}

// isRunning reports whether the tool is called and the call has no result yet.
func (s *shared) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == called
}
