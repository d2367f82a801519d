package delegation

import "errors"

// Code says why a strategy did not succeed, by what the caller can do about it.
type Code string

// The codes of this library. A strategy may use codes of its own. Where a provider refused, the
// code is the one of the provider's error (see llmclient.Code).
const (
	CodeFailed      Code = "failed"      // the strategy gave up
	CodeLimit       Code = "limit"       // a limit was reached
	CodeTruncated   Code = "truncated"   // a model's reply was cut off
	CodeInvalid     Code = "invalid"     // the input, an answer or a step was not what it must be
	CodePanic       Code = "panic"       // the strategy panicked
	CodeDefect      Code = "defect"      // the strategy broke the protocol: a nil step, a step of the wrong kind, …
	CodeUnknown     Code = "unknown"     // an effect may or may not have happened
	CodeStopped     Code = "stopped"     // the caller or a deadline stopped the run
	CodeStorage     Code = "storage"     // an answer could not be stored
	CodeInterrupted Code = "interrupted" // the process has left the run as it is
	CodeTakenOver   Code = "taken_over"  // another process goes on with the run
)

// Error is an error as data: it can be stored, sent and compared. Within the process that made it,
// Unwrap also gives the cause.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	cause   error
}

// NewError returns an Error with a cause, whose text is the message. A nil cause is a programming
// error that comes out as CodeDefect.
func NewError(code Code, cause error) *Error {
	if cause == nil {
		return &Error{Code: CodeDefect, Message: "delegation: an error without a cause"}
	}
	return &Error{Code: code, Message: cause.Error(), cause: cause}
}

// AsError returns err as data: the *Error that err is or wraps, or a new one with [CodeFailed]. The
// text of err is kept whole. A nil err gives nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // the exact type first: it is passed on as it is
		return e
	}
	code := CodeFailed
	if e, ok := errors.AsType[*Error](err); ok {
		code = e.Code
	}
	return NewError(code, err)
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause; nil for an Error that was read from JSON.
func (e *Error) Unwrap() error { return e.cause }
