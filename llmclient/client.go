package llmclient

import "context"

// Client asks a model.
//
// With a nil onDelta the reply is fetched as a whole, or as [WithWatch] says. Otherwise it is
// streamed: onDelta is called for each piece, in order, on the goroutine that called Complete, and
// never after Complete has returned. The pieces of one kind, joined, equal that part of the
// Response. Deltas are only for display: the Response holds everything.
//
// An error is an [*Error] if the client can say what happened. The cause of a canceled context can
// be found with errors.Is. A Client is safe for concurrent use. It returns soon after ctx is done
// and leaves no goroutine behind.
//
// Wrappers ([Retry], [Fallback], [RateLimit]) are Clients that use other Clients. They pass on
// context, request and deltas unchanged. Their method Unwrap() Client returns the wrapped client,
// so that [As] finds its optional abilities.
type Client interface {
	Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error)
}

// ClientFunc is a function that implements [Client].
type ClientFunc func(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error)

// Complete calls f. A nil f is an error.
func (f ClientFunc) Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error) {
	if f == nil {
		return nil, &Error{Code: CodeNotFound, Model: req.Model, Message: "the client is a nil function"}
	}
	return f(ctx, req, onDelta)
}

// Delta is a piece of a reply while it streams.
type Delta struct {
	Kind DeltaKind
	Text string
}

// DeltaKind says what kind of content a [Delta] is.
type DeltaKind uint8

// The kinds. Tool calls are not among them: the Response holds them whole. [WithCallDeltas] reports
// their pieces.
const (
	DeltaText    DeltaKind = iota // visible text
	DeltaThought                  // the model's thoughts
)

type watchKey struct{}

// WithWatch returns a context in which a [Client] may stream a reply although onDelta is nil, and
// then passes the pieces to fn, and those of calls to the function of [WithCallDeltas]. Nobody is
// shown them: a reply that breaks off is asked for again as if none had come. Of replies that were
// asked for again, fn gets the pieces of each. It is called as onDelta is.
func WithWatch(ctx context.Context, fn func(Delta)) context.Context {
	return context.WithValue(ctx, watchKey{}, fn)
}

// Watch returns onDelta or, if that is nil, the function that [WithWatch] put into ctx; nil if
// there is none. It is for those who write clients that can stream.
func Watch(ctx context.Context, onDelta func(Delta)) func(Delta) {
	if onDelta == nil {
		onDelta, _ = ctx.Value(watchKey{}).(func(Delta))
	}
	return onDelta
}
