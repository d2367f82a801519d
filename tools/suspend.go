package tools

import (
	"context"
	"encoding/json"
	"slices"
)

// Resumption is how a suspended call goes on.
type Resumption struct {
	State   json.RawMessage // as it was given to [Suspend]
	Answers []Answer        // one for each question, in their order; none if a newer release suspended the call
}

// Answer is the answer to one question of [Suspend].
type Answer struct {
	Text string
	Err  error // why there is none: a [*DeclinedError] if the person declined; any other says that nobody answered
}

// Suspend ends the call of the tool of ctx for now, because people must first answer the questions.
// It returns an error that wraps [ErrSuspended], and the tool must return it, wrapped or not. When
// every question is answered, declined or has expired, the tool is called again with the same
// arguments, perhaps days later and in another process. [Resumed] then returns the state and the
// answers, so that the tool can go on where it was. A second call may suspend again, with another
// state.
//
// Suspend is for what [Ask] cannot do: a tool that must not begin again from its beginning, because
// what it did has had an effect, or because the other side waits for the answers to its own
// questions. Use Ask for anything else.
//
// The state is JSON of at most 256 KiB. It is kept in the journal of the run, and is shown
// to nobody: put no key in it. There are 1 to 32 questions, all different. If anything is wrong,
// the error does not wrap ErrSuspended, and says so. Without anybody to ask it is [ErrNobody]; once
// ctx is done, it is the cause of ctx.
func Suspend(ctx context.Context, state json.RawMessage, questions ...Question) error {
	c := callOf(ctx)
	if c == nil {
		return ErrNobody
	}
	return c.Suspend(ctx, state, questions)
}

// Resumed returns how the call of the tool of ctx goes on, if it was suspended by [Suspend]; ok is
// false in a call that begins. A process that dies in a call that went on is no different from one
// that dies in any other: if the tool is read-only or idempotent, it is called again with the same
// Resumption.
func Resumed(ctx context.Context) (r Resumption, ok bool) {
	c := callOf(ctx)
	if c == nil || c.Resumption() == nil {
		return Resumption{}, false
	}
	kept := c.Resumption()
	return Resumption{State: slices.Clone(kept.State), Answers: slices.Clone(kept.Answers)}, true
}
