package llmclient

import (
	"context"
	"time"
)

// Notice reports what a wrapper does during a call: it waits, tries again, or asks another client;
// or what a client makes of an odd reply.
type Notice struct {
	Kind    NoticeKind
	Model   string        // the model of the attempt that ended or waits
	Attempt int           // the number of attempts of this wrapper so far, from 1; 0 if it counts none
	Wait    time.Duration // how long it will wait now
	Err     error         // the failure; nil for a wait before a first try
	Discard bool          // the parts streamed so far are void: the reply begins again
}

// NoticeKind is the kind of a [Notice].
type NoticeKind string

// The kinds.
const (
	NoticeRetry     NoticeKind = "retry"      // Retry waits, then tries again
	NoticeFallback  NoticeKind = "fallback"   // Fallback asks its next client
	NoticeRateLimit NoticeKind = "rate_limit" // the call has to wait before its first try
	NoticeRepair    NoticeKind = "repair"     // a reply is sent back for correction
	NoticeNoCall    NoticeKind = "no_call"    // a reply says that it calls a tool, and has no call: its text is the answer
	// NoticeTextCall: calls were read that the server had left in the text of a reply.
	NoticeTextCall NoticeKind = "text_call"
	// NoticeToolLeftOut: a client asks again without a tool whose schema the server refuses. Err
	// names the tool.
	NoticeToolLeftOut NoticeKind = "tool_left_out"
)

type notifyKey struct{}

// WithNotify returns a context in which wrappers report what they do to fn. fn is called on the
// goroutine of Complete and must not block. A context has one fn: a second one replaces the first.
func WithNotify(ctx context.Context, fn func(Notice)) context.Context {
	return context.WithValue(ctx, notifyKey{}, fn)
}

// Notify calls the function that [WithNotify] put into ctx, if any. It is for authors of wrappers.
func Notify(ctx context.Context, n Notice) {
	if fn, ok := ctx.Value(notifyKey{}).(func(Notice)); ok {
		fn(n)
	}
}
