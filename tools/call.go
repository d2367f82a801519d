package tools

import (
	"context"
	"encoding/json"
	"math"

	"github.com/segue-go/segue/internal/toolkey"
	"github.com/segue-go/segue/messages"
)

// call is the call that runs the tool of a context. See the functions of this package
// with the names of the methods.
type call interface {
	CallID() string
	IdempotencyKey() string
	MaxArguments() int // negative: no limit
	Progress(text string)
	Attach(a messages.Attachment)
	ShowImage(i messages.Image) (problem string, ok bool) // not ok: the call is over
	Suspend(ctx context.Context, state json.RawMessage, questions []Question) error
	Resumption() *Resumption // nil: the call begins
}

// callOf returns the call of ctx; nil if there is none.
func callOf(ctx context.Context) call {
	c, _ := ctx.Value(toolkey.Call{}).(call)
	return c
}

// Progress reports to the run what the tool of ctx is doing, in a few words. It does nothing after
// the tool returned or was abandoned, without a listener, or outside a call. Text beyond 4 KiB is
// cut.
func Progress(ctx context.Context, text string) {
	if c := callOf(ctx); c != nil {
		c.Progress(text)
	}
}

// Attach adds something that the tool of ctx made besides its result, such as a file, to the
// [messages.ToolOutput] of its call. The model does not see it: [ShowImage] is for pictures that it
// should see. Attach does nothing outside a call, or after it is over.
func Attach(ctx context.Context, a messages.Attachment) {
	if c := callOf(ctx); c != nil {
		c.Attach(a)
	}
}

// IdempotencyKey returns the key of the call that runs the tool of ctx. The key is the same
// whenever the same call is made again, such as after a crash, and different for every other call.
// A Remote of package orchestrator has a key, too. IdempotencyKey returns "" if there is no key, as
// outside a call.
func IdempotencyKey(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.IdempotencyKey()
	}
	return ""
}

// CallID returns the id of the call that runs the tool of ctx, as the model or its server wrote it,
// or "" outside a call.
func CallID(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.CallID()
	}
	return ""
}

// maxArguments returns the number of argument bytes that a typed tool reads.
func maxArguments(ctx context.Context, arguments string) int {
	const usual = 1 << 20
	if len(arguments) <= usual {
		return usual
	}
	c := callOf(ctx)
	switch {
	case c == nil:
		return usual
	case c.MaxArguments() < 0:
		return math.MaxInt
	default:
		return c.MaxArguments()
	}
}
