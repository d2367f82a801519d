package tools

import (
	"context"
	"math"
	"time"

	"github.com/segue-go/segue/messages"
)

// toolContext is a call as the context that its tool is given.
//
// It costs nothing until the tool asks for more than its values; then it becomes one of package
// context.
type toolContext Running

type callKey struct{}

// callOf returns the call that ctx belongs to; nil outside a call.
func callOf(ctx context.Context) *Running {
	c, _ := ctx.Value(callKey{}).(*Running)
	return c
}

// Progress tells whoever runs the tool of ctx what the tool is doing, in a few words. It does
// nothing once the tool has returned or was abandoned, and where nobody listens, as outside a
// [Runner]. More than 4 KiB are cut.
func Progress(ctx context.Context, text string) {
	const most = 4 << 10
	if c := callOf(ctx); c != nil && c.progress != nil && c.isRunning() {
		c.progress(validUTF8(shorten(text, most)))
	}
}

// Attach adds something that the tool of ctx made besides its result, such as a file, to the
// [messages.ToolOutput] of its call. The model does not see it. Outside a [Runner], and once the
// call is over, it does nothing.
func Attach(ctx context.Context, a messages.Attachment) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.state != over {
			c.attached = append(c.attached, a)
		}
	}
}

// IdempotencyKey returns the key of the call that runs the tool of ctx. The key is the same
// whenever this very call is made again, as after a crash, and different for every other call.
// Whoever runs the tool makes it: see [Job]. It is "" where there is none, as outside a [Runner].
func IdempotencyKey(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.key
	}
	return ""
}

// CallID returns the id of the call that runs the tool of ctx, as the model or its server wrote it;
// "" outside a [Runner].
func CallID(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.call.ID
	}
	return ""
}

// maxArguments returns how many bytes of arguments a typed tool reads.
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
	return c.standard().Value(key) // which is also how package context finds out who cancels whom
}

// standard returns the context of package context that the tool's is from now on.
func (c *Running) standard() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil {
		return c.std
	}
	if due, ok := c.Due(); ok {
		cause := &TimeoutError{Tool: c.call.Name, Timeout: c.timeout}
		c.std, c.cancel = context.WithDeadlineCause(c.parent, due, cause)
	} else {
		c.std, c.cancel = context.WithCancel(c.parent)
	}
	if c.state == over {
		c.cancel()
	}
	return c.std
}
