package tools

import (
	"context"
	"math"
	"time"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/messages"
)

// toolContext is a call in the role of its tool's context.
//
// It costs nothing as long as the tool reads only its values. After that it uses a context of
// package context.
type toolContext Running

type callKey struct{}

// callOf returns the call that ctx belongs to, or nil outside a call.
func callOf(ctx context.Context) *Running {
	c, _ := ctx.Value(callKey{}).(*Running)
	return c
}

// Progress reports to the caller of the Runner what the tool of ctx is doing, in a few words. It
// does nothing after the tool returned or was abandoned, without a listener, or outside a [Runner].
// Text beyond 4 KiB is cut.
func Progress(ctx context.Context, text string) {
	const most = 4 << 10
	if c := callOf(ctx); c != nil && c.progress != nil && c.isRunning() {
		c.progress(validUTF8(textcut.Short(text, most)))
	}
}

// Attach adds something that the tool of ctx made besides its result, such as a file, to the
// [messages.ToolOutput] of its call. The model does not see it: [ShowImage] is for pictures that it
// should see. Attach does nothing outside a [Runner], or after the call is over.
func Attach(ctx context.Context, a messages.Attachment) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.state != over {
			c.out.Attachments = append(c.out.Attachments, a)
		}
	}
}

// IdempotencyKey returns the key of the call that runs the tool of ctx. The key is the same
// whenever the same call is made again, such as after a crash, and different for every other call.
// The caller of the Runner sets it in a [Job]. A Remote of package orchestrator has a key, too.
// IdempotencyKey returns "" if there is no key, as outside a [Runner].
func IdempotencyKey(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.key
	}
	return ""
}

// CallID returns the id of the call that runs the tool of ctx, as the model or its server wrote it,
// or "" outside a [Runner].
func CallID(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.call.ID
	}
	return ""
}

// maxArguments returns the number of argument bytes that a typed tool reads.
func maxArguments(ctx context.Context, arguments string) int {
	if len(arguments) <= DefaultMaxArguments {
		return DefaultMaxArguments
	}
	c := callOf(ctx)
	switch {
	case c == nil:
		return DefaultMaxArguments
	case c.maxArguments < 0:
		return math.MaxInt
	default:
		return c.maxArguments
	}
}

// Deadline implements [context.Context].
func (t *toolContext) Deadline() (time.Time, bool) { return (*Running)(t).standard().Deadline() }

// Done implements [context.Context].
func (t *toolContext) Done() <-chan struct{} { return (*Running)(t).standard().Done() }

// Err implements [context.Context].
func (t *toolContext) Err() error { return (*Running)(t).standard().Err() }

// Value implements [context.Context].
func (t *toolContext) Value(key any) any {
	c := (*Running)(t)
	switch key {
	case callKey{}:
		return c
	case askKey{}:
		if c.ask == nil {
			return nil
		}
		return AskFunc(c.askFor)
	}
	return c.standard().Value(key) // also used by package context to propagate cancellation
}

// standard returns the context of package context that the tool uses from now on.
func (c *Running) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		if c.time != nil && c.parent.Err() != nil {
			c.time.end() // at once, as with the contexts of package context
		}
		return c.std
	}
	due, ok := c.Due()
	switch {
	case ok && c.ask != nil:
		c.std, c.cancel = c.limited()
	case ok:
		cause := &TimeoutError{Tool: c.call.Name, Timeout: c.timeout}
		c.std, c.cancel = context.WithDeadlineCause(c.parent, due, cause)
	default:
		c.std, c.cancel = context.WithCancel(c.parent)
	}
	if c.state == over {
		c.cancel()
	}
	return c.std
}
