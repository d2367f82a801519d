package orchestrator

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// readError converts an error from foreign code to data: from a client, a middleware, a remote, a
// store, Config.Reply, or the cause of a context. After that no method of the error itself is
// called. An error whose methods panic, such as a typed nil, becomes a [*machine.PanicError] with
// [delegation.CodePanic]; the PanicError is also returned.
func readError(err error) (unreadable *machine.PanicError, data error) {
	switch e := err.(type) { //nolint:errorlint // exactly these types are safe
	case nil:
		return nil, nil
	case *guard.Error:
		return nil, e
	case *SuspendedError:
		if e != nil {
			return nil, e
		}
	}
	defer func() {
		if v := recover(); v != nil {
			unreadable = &machine.PanicError{Value: v, Stack: debug.Stack()}
			data = delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: the Error method of a %T %w", err, unreadable))
		}
	}()
	return nil, guard.New(err, err.Error())
}

// readError is readError for an error of an effect; it reports a panic of the error.
func (x *execution) readError(err error, whose string) error {
	unreadable, data := readError(err)
	if unreadable != nil {
		x.panicked("an error of "+whose, unreadable.Value, unreadable.Stack)
	}
	return data
}

// boundary wraps a Handler that may be foreign code: it converts its error to data.
func boundary(h Handler) Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		answer, err := h(ctx, e)
		if x := executionOf(ctx); x != nil {
			return answer, x.readError(err, "a middleware")
		}
		_, data := readError(err)
		return answer, data
	}
}

// causeOfContext returns why a context is done, as data; nil if it is not.
func causeOfContext(ctx context.Context) error {
	_, cause := readError(context.Cause(ctx))
	return cause
}
