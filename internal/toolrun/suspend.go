package toolrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/tools"
)

// maxState bounds the state of a suspended call, in bytes.
const maxState = 256 << 10

// Suspension is what a call left that [tools.Suspend] has suspended.
type Suspension struct {
	State     json.RawMessage  // the tool's own; nil: none
	Questions []tools.Question // all different
}

// Suspend suspends the call; see [tools.Suspend].
func (c *Running) Suspend(ctx context.Context, state json.RawMessage, questions []tools.Question) error {
	if c.ask == nil {
		return tools.ErrNobody
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

// Resumption returns how a suspended call goes on; nil: it begins.
func (c *Running) Resumption() *tools.Resumption { return c.resumption }

const mostQuestions = 32

var (
	errOver          = errors.New("tools: the call is over")
	errSuspendedCall = fmt.Errorf("%w: the call goes on when its questions are answered", tools.ErrSuspended)
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
			q.Kind = tools.KindQuestion
		}
		for _, other := range s.Questions[:i] {
			if q.Kind == other.Kind && q.Text == other.Text && slices.Equal(q.Options, other.Options) {
				return fmt.Errorf("tools: Suspend was given the question %q twice", textcut.Short(q.Text, 24))
			}
		}
	}
	return nil
}

// Suspended returns what the call left, if its tool has suspended it by [tools.Suspend]. It is for
// the caller of a [Runner], after Perform has returned [tools.ReasonSuspended].
func (c *Running) Suspended() (s Suspension, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.suspension == nil || c.out.Reason != tools.ReasonSuspended {
		return Suspension{}, false
	}
	return *c.suspension, true
}
