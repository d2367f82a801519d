package llmclient

import "context"

// Client asks a model.
//
// With a nil onDelta the reply is fetched whole. Otherwise it is streamed: onDelta is called for
// each piece in order, on the goroutine that called Complete, never after Complete has returned;
// the pieces of one kind, joined, equal that part of the Response. Deltas are a view: the Response
// holds everything.
//
// An error is an [*Error] wherever the client can say what happened; the context's cause stays
// reachable with errors.Is. A Client is safe for concurrent use. It returns soon after ctx is done
// and leaves no goroutine behind.
//
// Wrappers ([Retry], [Fallback], [RateLimit]) are Clients around Clients. They hand on context,
// request and deltas as they are, and show what they wrap with a method Unwrap() Client, so that
// [As] finds what a client can do besides.
type Client interface {
	Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error)
}

// ClientFunc is a function as a [Client].
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

// DeltaKind says what a [Delta] is a piece of.
type DeltaKind uint8

// Tool calls are not among them: they stand in the Response, whole. Who wants their pieces calls
// [WithCallDeltas].
const (
	DeltaText    DeltaKind = iota // of the visible text
	DeltaThought                  // of the model's thoughts
)
