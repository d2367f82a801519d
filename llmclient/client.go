package llmclient

import "context"

// Client asks a model.
//
// With a nil onDelta the reply is fetched as a whole. Otherwise it is streamed: onDelta is called
// for each piece, in order, on the goroutine that called Complete, and never after Complete has
// returned. The pieces of one kind, joined, equal that part of the Response. Deltas are only for
// display: the Response holds everything.
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
