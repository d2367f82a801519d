package llmclient

import "context"

// CallDelta is a piece of a tool call while a reply streams.
type CallDelta struct {
	Index int    // tells the calls of one reply apart; from 0
	ID    string // the id of the call in the Response; "" if it is not known yet
	Tool  string // the name of the tool, whole
	Text  string // a piece of the arguments, which are JSON
}

type callDeltasKey struct{}

// WithCallDeltas returns a context in which a [Client] that streams a reply tells fn the tool calls
// as they come. The pieces of one call, joined, are the beginning of its arguments, and not always
// all of them: a client need not stream calls at all, and the Response holds them whole. A call may
// be told that the Response does not have, such as one that was repeated or cut off. Each [Notice]
// voids the pieces told before it.
//
// fn is called as onDelta is: in order, on the goroutine that called Complete, never after Complete
// has returned. One fn stands in a context: a second one replaces the first.
func WithCallDeltas(ctx context.Context, fn func(CallDelta)) context.Context {
	return context.WithValue(ctx, callDeltasKey{}, fn)
}

// CallDeltas returns the function that [WithCallDeltas] put into ctx; nil if nobody wants to know.
// It is for those who write clients.
func CallDeltas(ctx context.Context) func(CallDelta) {
	fn, _ := ctx.Value(callDeltasKey{}).(func(CallDelta))
	return fn
}
