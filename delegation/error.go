package delegation

import "errors"

// Code classifies the failure of a strategy by what the caller can do about it.
type Code string

// The codes of this library. A strategy may define its own. When a provider refuses a request, the
// code is that of the provider's error (see llmclient.Code).
const (
	CodeFailed      Code = "failed"      // the strategy gave up
	CodeLimit       Code = "limit"       // a limit was reached
	CodeRepetition  Code = "repetition"  // a model made the same call again and again
	CodeTruncated   Code = "truncated"   // a model's reply was cut off
	CodeInvalid     Code = "invalid"     // the input, an answer or a step was invalid
	CodePanic       Code = "panic"       // the strategy panicked
	CodeDefect      Code = "defect"      // the strategy broke the protocol: a nil step, a step of the wrong kind, …
	CodeUnknown     Code = "unknown"     // an effect may or may not have happened
	CodeStopped     Code = "stopped"     // the caller or a deadline stopped the run
	CodeStorage     Code = "storage"     // an answer could not be stored
	CodeInterrupted Code = "interrupted" // the process has left the run as it is
	CodeTakenOver   Code = "taken_over"  // another process continues the run
)

// Error is an error as data: it can be stored, sent and compared. Unwrap also returns the cause,
// but only in the process that made the Error.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	cause   error
}

// NewError returns an Error whose message is the text of cause. A nil cause is a programming error
// and gives an Error with CodeDefect.
func NewError(code Code, cause error) *Error {
	if cause == nil {
		return &Error{Code: CodeDefect, Message: "delegation: an error without a cause"}
	}
	return &Error{Code: code, Message: cause.Error(), cause: cause}
}

// AsError returns err as data. An *Error is returned unchanged. For any other err, AsError returns
// a new Error with the whole text of err, and with the code of the *Error that err wraps, or else
// [CodeFailed]. A nil err gives nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // the exact type first: it is returned unchanged
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

// Unwrap returns the cause. It returns nil for an Error that was read from JSON.
func (e *Error) Unwrap() error { return e.cause }
