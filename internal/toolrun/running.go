package toolrun

import (
	"context"
	"sync"
	"time"

	"github.com/segue-go/segue/internal/asktime"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Running is a call that was started by [Runner.Begin]. Perform may be called once. The other
// methods are safe for concurrent use with Perform and with each other.
//
// A call has one result. It is made by the first of Perform, Exited and Abandon; the others return
// the same result.
type Running struct {
	call      messages.ToolCall
	tool      tools.Tool
	parent    context.Context // the context given to Begin
	onPanic   func(messages.ToolCall, any, []byte)
	began     time.Time
	timeout   time.Duration // no time-out if not positive
	maxResult int           // no limit if negative
	safe      bool          // if cut off, the call had no effect or may run again
	untrusted bool
	refused   bool // no tool is called

	key          string
	ask          tools.AskFunc
	progress     func(string)
	resumption   *tools.Resumption
	maxArguments int // no limit if negative
	asked        asktime.Total

	mu         sync.Mutex
	state      state
	stopped    bool                // a stop of the run ended a question of the tool
	out        messages.ToolOutput // the result; before it is over, only its attachments and images
	suspension *Suspension         // of the last Suspend
	std        context.Context     // nil until it is needed
	time       *callTime           // of std; nil if the call does not time out, or asks nobody
	cancel     context.CancelFunc
}

// state is the progress of a call.
type state uint8

const (
	ready  state = iota // the tool was not called yet
	called              // the tool was called
	over                // the call has a result
)

// Due returns the time at which the call times out; ok is false if it does not. The time moves on
// while the tool asks a person. So once it has come, ask again before you abandon the call.
func (c *Running) Due() (at time.Time, ok bool) {
	if c.refused || c.timeout <= 0 {
		return time.Time{}, false
	}
	return c.due(), true
}

// due returns the time at which a call with a time-out times out, if the tool asks nobody from now
// on.
func (c *Running) due() time.Time { return c.began.Add(c.timeout + c.asked.Sum()) }

// Perform calls the tool on the current goroutine and returns the result of the call.
//
//   - A failure is a result: an unknown tool, arguments that are too long or wrong, an error, a
//     panic. An error whose methods panic, such as a typed nil, counts as a panic of the tool.
//   - If the context of Begin is already done, the tool is not called, and the call fails as
//     interrupted. Otherwise the context of the tool is done when the context of Begin is done, or
//     at the time-out, with a [*tools.TimeoutError] as cause. The time-out does not count the time
//     in which the tool asks a person with [tools.Ask].
//   - A call that returns no error has its result, however late. A call that returns an error after
//     its context was done was cut off. Its status is failed if its tool is ReadOnly or Idempotent,
//     and unknown otherwise.
//   - A call whose error wraps [tools.ErrSuspended] has no result, even if its context was done.
//     Perform returns a ToolOutput with [tools.ReasonSuspended] in its place.
//   - A result is cut at MaxResult, with a line that says so. Bytes that are not UTF-8 become
//     U+FFFD.
//
// Perform does not return if the tool ends its goroutine (runtime.Goexit). [Running.Exited] then
// returns the result.
func (c *Running) Perform() (out messages.ToolOutput) {
	var o outcome
	if c.start(&out) {
		c.callTool((*toolContext)(c), &o)
		c.finish(&o, &out)
	}
	return out
}

// Exited ends a call whose tool ended its goroutine, and returns its result. Call it in a deferred
// function of the goroutine that runs Perform.
func (c *Running) Exited() messages.ToolOutput {
	var out messages.ToolOutput
	c.finish(&outcome{exited: true}, &out)
	return out
}

// Abandon gives up a call and returns its result: the call was cut off, as by the end of its
// context, and its tool may continue to run. If Perform has not started, the call failed and the
// tool is never called. The reason is [tools.ReasonTimeout] or [messages.ReasonInterrupted].
//
// Abandon ends the context of the tool. From then on, Progress, Ask, Attach and ShowImage of
// this call do nothing. One that is running at that moment may still end later.
func (c *Running) Abandon(reason string) messages.ToolOutput {
	out := c.abandoned(reason, c.elapsed())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == ready {
		out = c.notStarted(reason)
	}
	c.end(&out)
	return out
}

// elapsed returns the time that the call has taken, without the time of people.
func (c *Running) elapsed() time.Duration {
	return max(0, time.Since(c.began)-c.asked.Sum())
}

// start reports whether the tool is to be called. If not, out is the result.
func (c *Running) start(out *messages.ToolOutput) bool {
	interrupted := c.parent.Err() != nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != ready {
		*out = c.out
		return false
	}
	c.state = called
	if interrupted {
		*out = c.notStarted(messages.ReasonInterrupted)
		c.end(out)
	}
	return !interrupted
}

// finish ends the call whose tool has ended with o, unless it already has a result. Out becomes the
// result.
func (c *Running) finish(o *outcome, out *messages.ToolOutput) {
	elapsed := c.elapsed()
	c.result(o, elapsed, c.cutOff(o, elapsed), out)
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Attachments, out.Images = c.out.Attachments, c.out.Images
	c.end(out)
}

// end ends the call with out, and the context of the tool, with the lock held. If the call already
// has a result, out becomes that.
func (c *Running) end(out *messages.ToolOutput) {
	if c.state == over {
		*out = c.out
	} else {
		c.out, c.state = *out, over
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// cutOff returns why the context of a call was done when its tool failed, or "" if it was not done.
func (c *Running) cutOff(o *outcome, elapsed time.Duration) string {
	if !o.failed {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.timeout > 0 && elapsed >= c.timeout:
		return tools.ReasonTimeout
	case c.stopped || c.parent.Err() != nil:
		return messages.ReasonInterrupted
	default:
		return ""
	}
}

// isRunning reports whether the tool was called and the call has no result yet.
func (c *Running) isRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == called
}
