package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxState is the number of bytes that the state of a suspended call may have.
const maxState = 256 << 10

// Suspension is what a call left that [Suspend] has suspended.
type Suspension struct {
	State     json.RawMessage // the tool's own; nil: none
	Questions []Question      // all different
}

// Resumption is how a suspended call goes on.
type Resumption struct {
	State   json.RawMessage // as it was given to [Suspend]
	Answers []Answer        // one for each question, in their order; none if a newer release suspended the call
}

// Answer is the answer to one question of a [Suspension].
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
	if c == nil || c.ask == nil {
		return ErrNobody
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s := &Suspension{State: slices.Clone(state), Questions: slices.Clone(questions)}
	if err := s.check(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != called {
		return errOver
	}
	c.suspension = s
	return errSuspendedCall
}

// mostQuestions bounds the questions of a Suspension.
const mostQuestions = 32

var (
	errOver          = errors.New("tools: the call is over")
	errSuspendedCall = fmt.Errorf("%w: the call goes on when its questions are answered", ErrSuspended)
)

// check completes the questions, and says what is wrong with the Suspension.
func (s *Suspension) check() error {
	switch n := len(s.Questions); {
	case n == 0:
		return errors.New("tools: Suspend needs a question")
	case n > mostQuestions:
		return fmt.Errorf("tools: Suspend was given %d questions, more than %d", n, mostQuestions)
	case len(s.State) > maxState:
		return fmt.Errorf("tools: the state of a suspended call has %d bytes, more than %d", len(s.State), maxState)
	case s.State != nil && !json.Valid(s.State):
		return errors.New("tools: the state of a suspended call is not JSON")
	}
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Kind == "" {
			q.Kind = KindQuestion
		}
		for _, other := range s.Questions[:i] {
			if q.Kind == other.Kind && q.Text == other.Text && slices.Equal(q.Options, other.Options) {
				return fmt.Errorf("tools: Suspend was given the question %s twice", brief(q.Text))
			}
		}
	}
	return nil
}

// Resumed returns how the call of the tool of ctx goes on, if it was suspended by [Suspend]; ok is
// false in a call that begins. A process that dies in a call that went on is no different from one
// that dies in any other: if the tool is read-only or idempotent, it is called again with the same
// Resumption.
func Resumed(ctx context.Context) (r Resumption, ok bool) {
	c := callOf(ctx)
	if c == nil || c.resumption == nil {
		return Resumption{}, false
	}
	return Resumption{State: slices.Clone(c.resumption.State), Answers: slices.Clone(c.resumption.Answers)}, true
}

// Suspended returns what the call left, if its tool has suspended it by [Suspend]. It is for the
// caller of a [Runner], after Perform has returned [ReasonSuspended].
func (c *Running) Suspended() (s Suspension, ok bool) {
	if c.shared == nil {
		return Suspension{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.suspension == nil || c.out.Reason != ReasonSuspended {
		return Suspension{}, false
	}
	return *c.suspension, true
}
