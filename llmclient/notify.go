package llmclient

import (
	"context"
	"time"
)

// Notice is what a wrapper does while a call is under way: it waits, tries again, or turns to
// another client.
type Notice struct {
	Kind    NoticeKind
	Model   string        // the model of the attempt that is over, or that waits
	Attempt int           // how many attempts this wrapper has made so far, from 1; 0 where it counts none
	Wait    time.Duration // how long it will wait now
	Err     error         // what went wrong; nil for a wait before a first try
	Discard bool          // what the call has streamed so far is void: the reply begins anew
}

// NoticeKind is the kind of a [Notice].
type NoticeKind string

// The kinds.
const (
	NoticeRetry     NoticeKind = "retry"      // Retry waits, then tries again
	NoticeFallback  NoticeKind = "fallback"   // Fallback turns to its next client
	NoticeRateLimit NoticeKind = "rate_limit" // the call is held back before its first try
	NoticeRepair    NoticeKind = "repair"     // a reply is sent back to be put right
)

type notifyKey struct{}

// WithNotify returns a context in which wrappers tell fn what they do, as they do it. fn is called
// on the goroutine of Complete and must not block. One fn stands in a context: a second one
// replaces the first.
func WithNotify(ctx context.Context, fn func(Notice)) context.Context {
	return context.WithValue(ctx, notifyKey{}, fn)
}

// Notify tells the function that [WithNotify] put into ctx, if any. It is for those who write
// wrappers.
func Notify(ctx context.Context, n Notice) {
	if fn, ok := ctx.Value(notifyKey{}).(func(Notice)); ok {
		fn(n)
	}
}
