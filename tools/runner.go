package tools

import (
	"cmp"
	"context"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/messages"
)

// Defaults of a [Runner].
const (
	DefaultTimeout      = 60 * time.Second
	DefaultMaxResult    = 256 << 10
	DefaultMaxArguments = 1 << 20
	DefaultGrace        = 250 * time.Millisecond
)

// Runner says how calls are performed. In each field zero means the default and negative means
// none. The zero value is ready, and safe for concurrent use.
//
// A Runner performs one call at a time, on the goroutine that it is used on. Which calls run at the
// same time, and in which order, is for whoever uses it to say.
type Runner struct {
	Timeout      time.Duration // for one call, where its Definition has none; default 60 s
	MaxResult    int           // bytes kept of one result, where its Definition says nothing; default 256 KiB
	MaxArguments int           // bytes of one call's arguments; default 1 MiB

	// Grace is how long whoever waits for a call gives it to return after its context is done,
	// before abandoning it; default 250 ms. The Runner itself waits for no call.
	Grace time.Duration

	// OnPanic is told of a tool that panicked, with the stack, which the result does not show: also
	// of one that was abandoned. It is called on the tool's goroutine, several at once; it may be
	// nil. Its own panics are dropped.
	OnPanic func(call messages.ToolCall, value any, stack []byte)
}

// Job is one call to make.
type Job struct {
	Call  messages.ToolCall
	Tool  Tool            // nil: there is none of that name, and the result says so
	Names func() []string // what there is, told to a model that calls something else; may be nil
	Key   string          // the idempotency key that the tool is given; "" gives it none
	Ask   AskFunc         // asks people for [Ask]; nil: there is nobody to ask

	// Progress hears what the tool says with [Progress]: UTF-8, at most 4 KiB. It is called on the
	// goroutine that says it, several at once, and the tool waits for it. Nil: nobody listens.
	Progress func(text string)
}

// Run is [Runner.Begin] and [Running.Perform]: it makes a call on the caller's goroutine, and waits
// for the tool as long as the tool takes.
func (r Runner) Run(ctx context.Context, j Job) messages.ToolOutput { return r.Begin(ctx, j).Perform() }

// Begin looks at a tool and at the size of its arguments, and sets the time-out running. It does
// not call the tool: [Running.Perform] does. What is wrong with the call by now, such as a tool
// that there is not, is the result of Perform.
func (r Runner) Begin(ctx context.Context, j Job) *Running {
	r = r.WithDefaults()
	c := &Running{call: j.Call, tool: j.Tool, parent: ctx, onPanic: r.OnPanic, maxResult: r.MaxResult}
	inline, refused := c.look(&r, j.Names)
	c.began = time.Now()
	switch {
	case refused != nil:
		c.refused, c.shared = true, &shared{out: *refused, state: over}
	case !inline:
		c.shared = &shared{key: j.Key, ask: j.Ask, progress: j.Progress, maxArguments: r.MaxArguments}
		if c.timeout > 0 {
			c.due = c.began.Add(c.timeout)
		}
	}
	return c
}

// look asks the tool what it is, and says why the call is refused, if it is. What a tool says of
// itself may panic.
func (c *Running) look(r *Runner, names func() []string) (inline bool, refused *messages.ToolOutput) {
	defer func() {
		if v := recover(); v != nil {
			o := outcome{panicked: true, value: v, stack: debug.Stack()}
			c.reportPanic(o)
			out := c.result(o, 0, "")
			refused = &out
		}
	}()
	if c.tool == nil {
		return false, c.unknown(names)
	}
	def := c.tool.Definition()
	c.timeout = cmp.Or(def.Timeout, r.Timeout)
	c.maxResult = cmp.Or(def.MaxResult, r.MaxResult)
	c.safe, c.untrusted = def.ReadOnly || def.Idempotent, def.Untrusted
	size := len(c.call.Arguments)
	if r.MaxArguments > 0 && size > r.MaxArguments {
		return false, c.tooLong(r.MaxArguments)
	}
	return size <= DefaultMaxArguments && isInline(c.tool), nil // parsing more than that takes a while
}

func isInline(t Tool) bool {
	p, ok := t.(interface{ Inline() bool })
	return ok && p.Inline()
}

// WithDefaults returns r with the default in each field that is zero.
func (r Runner) WithDefaults() Runner {
	r.Timeout = cmp.Or(r.Timeout, DefaultTimeout)
	r.MaxResult = cmp.Or(r.MaxResult, DefaultMaxResult)
	r.MaxArguments = cmp.Or(r.MaxArguments, DefaultMaxArguments)
	r.Grace = cmp.Or(r.Grace, DefaultGrace)
	return r
}
