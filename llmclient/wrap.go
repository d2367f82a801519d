package llmclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
)

// As returns the first client that is a T, in c and the clients that it wraps. It finds abilities
// of a client behind wrappers, in the way errors.As finds an error: a wrapper has a method Unwrap()
// Client that returns what it wraps. Of a [Fallback] the first candidate is searched. A [Router] is
// not searched, because the request decides which client is used.
func As[T any](c Client) (T, bool) {
	for c != nil {
		if found, ok := c.(T); ok {
			return found, true
		}
		wrapper, ok := c.(interface{ Unwrap() Client })
		if !ok {
			break
		}
		c = wrapper.Unwrap()
	}
	var none T
	return none, false
}

// ask is c.Complete for clients that may be nil, or that return neither a response nor an error.
func ask(ctx context.Context, c Client, req *Request, onDelta func(Delta)) (*Response, error) {
	if c == nil {
		return nil, &Error{Code: CodeNotFound, Model: req.Model, Message: "the client is nil: the wrapper has no client"}
	}
	resp, err := c.Complete(ctx, req, onDelta)
	if resp == nil && err == nil {
		return nil, &Error{Code: CodeBadResponse, Model: req.Model, Message: fmt.Sprintf("client %T returned neither a response nor an error", c)}
	}
	return resp, err
}

// noteOutput returns an onDelta that also records whether it received any output. A nil onDelta
// stays nil.
func noteOutput(onDelta func(Delta), output *bool) func(Delta) {
	if onDelta == nil {
		return nil
	}
	return func(d Delta) {
		*output = *output || d.Text != ""
		onDelta(d)
	}
}

// classify returns the code of any error that a client may return. Errors that are not an [*Error]
// are classified by their cause: the context, or a connection that broke or was never made. All
// others have the code "".
func classify(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return CodeTimeout
	case errors.Is(err, io.ErrUnexpectedEOF):
		return CodeUnavailable
	}
	// Not any net.Error: *url.Error is one even if the request could never have been sent.
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return codeOfNet(op)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return codeOfNet(dns)
	}
	return ""
}

func codeOfNet(err net.Error) Code {
	if err.Timeout() {
		return CodeTimeout
	}
	return CodeUnavailable
}

// asError returns err as an [*Error] that the caller may change: a copy of the one in it, or a new
// one around it.
func asError(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Code: classify(err), Err: err}
	}
	own := *e
	if err != error(e) { //nolint:errorlint // the very same value
		own.Err = err
	}
	return &own
}

// failed appends err, as the outcome of one try, to attempts: first the attempts that err lists,
// then err.
func failed(attempts []Attempt, model string, err error) []Attempt {
	e := asError(err)
	if e.Model != "" {
		model = e.Model
	}
	attempts = append(attempts, e.Attempts...)
	return append(attempts, Attempt{Model: model, Usage: e.Usage, Code: e.Code, Error: err.Error()})
}

// errorAfter returns err as the outcome of a call, with the earlier attempts.
func errorAfter(attempts []Attempt, err error) error {
	if len(attempts) == 0 {
		return err
	}
	e := asError(err)
	e.Attempts = slices.Concat(attempts, e.Attempts)
	return e
}

// responseAfter returns resp as the outcome of a call, with the earlier attempts.
func responseAfter(attempts []Attempt, resp *Response) *Response {
	if len(attempts) == 0 {
		return resp
	}
	own := *resp
	own.Attempts = slices.Concat(attempts, resp.Attempts)
	return &own
}

// gaveUp returns the error of a call whose ctx was done while it was not asking a client. The error
// also represents the last try, so that its usage is counted; last is nil if there was none.
func gaveUp(ctx context.Context, model, doing string, last error) *Error {
	cause := context.Cause(ctx)
	if cause != ctx.Err() { //nolint:errorlint // the very same value
		cause = errors.Join(ctx.Err(), cause)
	}
	e := &Error{Code: CodeCanceled, Model: model, Message: "gave up while " + doing, Err: cause}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Code = CodeTimeout
	}
	if last == nil {
		return e
	}
	from := asError(last)
	e.Usage, e.Partial, e.Attempts = from.Usage, from.Partial, from.Attempts
	e.Message += "; the last try: " + last.Error()
	e.Err = errors.Join(cause, last)
	return e
}
