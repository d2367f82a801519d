// Package toolrun runs tools. A [Runner] performs one call, and turns every failure into a result
// that the model can read.
//
// [Runner.Run] waits until the tool returns. To give up on a tool that hangs, or to run several
// calls at the same time, start each call with [Runner.Begin] and perform it on a goroutine.
// [Running.Due] returns the time at which the call times out. [Running.Abandon] ends the call and
// returns a result for it. See the example of Begin. The caller decides on goroutines, concurrency
// and order.
package toolrun

import (
	"cmp"
	"context"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Defaults of a [Runner].
const (
	DefaultTimeout      = 60 * time.Second
	DefaultMaxArguments = 1 << 20
	DefaultGrace        = 250 * time.Millisecond
)

// Runner performs calls. In each field zero means the default and negative means none. The zero
// value is ready to use, and safe for concurrent use.
//
// A Runner performs one call at a time, on the caller's goroutine. The caller decides which calls
// run at the same time, and in which order.
type Runner struct {
	Timeout      time.Duration // for one call, unless its Definition sets one; default 60 s; see [tools.Ask]
	MaxResult    int           // bytes kept of one result, unless its Definition sets it; default 256 KiB
	MaxArguments int           // bytes of one call's arguments; default 1 MiB

	// Grace is how long a caller should wait for a call to return after its context is done, before
	// abandoning it; default 250 ms. The Runner itself does not wait.
	Grace time.Duration

	// OnPanic is called when a tool panics, with the stack, which the result does not show. It is
	// also called for an abandoned tool. It runs on the tool's goroutine and must be safe for
	// concurrent use. It may be nil. Its own panics are ignored.
	OnPanic func(call messages.ToolCall, value any, stack []byte)
}

// Job is one call to make.
type Job struct {
	Call  messages.ToolCall
	Tool  tools.Tool      // nil means that no tool has that name; the result says so
	Names func() []string // the known names, shown to a model that calls an unknown tool; may be nil
	Key   string          // the idempotency key for the tool; "" means none
	Ask   tools.AskFunc   // answers [tools.Ask]; nil means that there is nobody to ask

	// MaxResult is how many bytes are kept of the result, whatever Definition and Runner say. 0: as
	// they say; negative: no limit.
	MaxResult int

	// Resumption says how a call goes on that [tools.Suspend] has suspended; nil: the call begins.
	Resumption *tools.Resumption

	// Progress receives the messages of [tools.Progress]: UTF-8, at most 4 KiB. It is called on the
	// goroutine that reports, which waits for it, and must be safe for concurrent use. If it is
	// nil, messages are dropped.
	Progress func(text string)
}

// Run makes a call on the caller's goroutine and waits until the tool returns. It is [Runner.Begin]
// followed by [Running.Perform].
func (r Runner) Run(ctx context.Context, j Job) messages.ToolOutput { return r.Begin(ctx, j).Perform() }

// Begin checks the tool and the size of the arguments, and starts the time-out. It does not call
// the tool: [Running.Perform] does. If the check fails, as for an unknown tool, Perform returns the
// error as a result.
func (r Runner) Begin(ctx context.Context, j Job) *Running {
	r = r.WithDefaults()
	c := &Running{
		call: j.Call, tool: j.Tool, parent: ctx, onPanic: r.OnPanic, maxResult: r.MaxResult,
		key: j.Key, ask: j.Ask, progress: j.Progress, resumption: j.Resumption, maxArguments: r.MaxArguments,
	}
	refused := c.look(&r, j.Names)
	c.maxResult = cmp.Or(j.MaxResult, c.maxResult)
	c.began = time.Now()
	if refused != nil {
		c.refused, c.out, c.state = true, *refused, over
	}
	return c
}

// look reads the tool's properties and returns the reason for a refusal, if there is one. The
// tool's methods may panic.
func (c *Running) look(r *Runner, names func() []string) (refused *messages.ToolOutput) {
	defer func() {
		if v := recover(); v != nil {
			var o outcome
			c.panicked(&o, v)
			refused = new(messages.ToolOutput)
			c.result(&o, 0, "", refused)
		}
	}()
	if c.tool == nil {
		return c.unknown(names)
	}
	def := c.tool.Definition()
	c.timeout = cmp.Or(def.Timeout, r.Timeout)
	c.maxResult = cmp.Or(def.MaxResult, r.MaxResult)
	c.safe, c.untrusted = def.ReadOnly || def.Idempotent, def.Untrusted
	if r.MaxArguments > 0 && len(c.call.Arguments) > r.MaxArguments {
		return c.tooLong(r.MaxArguments)
	}
	return nil
}

// WithDefaults returns r with defaults for the fields that are zero.
func (r Runner) WithDefaults() Runner {
	r.Timeout = cmp.Or(r.Timeout, DefaultTimeout)
	r.MaxResult = cmp.Or(r.MaxResult, tools.DefaultMaxResult)
	r.MaxArguments = cmp.Or(r.MaxArguments, DefaultMaxArguments)
	r.Grace = cmp.Or(r.Grace, DefaultGrace)
	return r
}
