package llmclient

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/messages"
)

// Code classifies a failed request by what the caller can do about it.
type Code string

// The codes. For the first group, the same request may succeed later; see [Code.Temporary].
const (
	CodeRateLimited Code = "rate_limited" // wait; Error.RetryAfter says how long, if the provider does
	CodeUnavailable Code = "unavailable"  // the provider or the connection is down; also 5xx and cut connections
	CodeTimeout     Code = "timeout"      // no answer, or no next piece of it, in time
	CodeTruncated   Code = "truncated"    // the stream ended early, with neither a finish reason nor an end mark

	CodeContextLength     Code = "context_length"      // shorten the messages
	CodeAuth              Code = "auth"                // the key is missing, wrong, or not allowed to do this
	CodeQuota             Code = "quota"               // the account has no credit left
	CodeNotFound          Code = "not_found"           // the provider does not accept the request
	CodeBadRequest        Code = "bad_request"         // the request is not one the provider takes
	CodeContentFilter     Code = "content_filter"      // withheld by the provider's policy
	CodeMalformedToolCall Code = "malformed_tool_call" // the model's call was unreadable, see Error.Generated, or is missing; ask again
	CodeBadResponse       Code = "bad_response"        // the library cannot read the provider's answer
	CodeCanceled          Code = "canceled"            // the caller gave up
)

// Temporary reports whether the same request may succeed later.
func (c Code) Temporary() bool {
	switch c {
	case CodeRateLimited, CodeUnavailable, CodeTimeout, CodeTruncated:
		return true
	default:
		return false
	}
}

// Error is a failed request to a model. Its text never contains a key or a header.
type Error struct {
	Code       Code               // "" if the cause has no code
	Status     int                // HTTP status; 0 if there was no HTTP answer
	Type       string             // the provider's own type or code, such as "insufficient_quota"
	Message    string             // the provider's message, or ours
	Model      string             // the model asked
	RequestID  string             // the provider's id of the request
	RetryAfter time.Duration      // how long the provider asks to wait; 0 if it does not say
	NoRetry    bool               // the same request would fail in the same way now, though its code is temporary: Retry does not repeat it
	Generated  string             // for CodeMalformedToolCall: what the model wrote
	Partial    messages.Assistant // what had arrived when the reply broke off: complete calls are kept, a cut one is not
	Usage      messages.Usage     // tokens that were billed nevertheless, if known; those of a reply that broke off may be estimated
	Attempts   []Attempt          // the failed tries before the one that this error is about
	Err        error              // the cause; may be nil
}

// Error describes the failure in one line: "llmclient: rate_limited (status 429, request req_1,
// attempt 4): slow down".
func (e *Error) Error() string {
	var about []string
	if e.Status != 0 {
		about = append(about, "status "+strconv.Itoa(e.Status))
	}
	if e.Type != "" && e.Type != string(e.Code) {
		about = append(about, e.Type)
	}
	if e.Model != "" {
		about = append(about, "model "+e.Model)
	}
	if e.RequestID != "" {
		about = append(about, "request "+e.RequestID)
	}
	if e.RetryAfter > 0 {
		about = append(about, "retry after "+e.RetryAfter.Round(time.Millisecond).String())
	}
	if len(e.Attempts) > 0 {
		about = append(about, "attempt "+strconv.Itoa(len(e.Attempts)+1))
	}
	var b strings.Builder
	b.WriteString("llmclient: " + cmp.Or(string(e.Code), "failed"))
	if len(about) > 0 {
		b.WriteString(" (" + strings.Join(about, ", ") + ")")
	}
	switch {
	case e.Message != "":
		b.WriteString(": " + e.Message)
	case e.Err != nil:
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// ConfigError reports which field of the Config of a client cannot be used, why, and what to do. It
// contains no key or password.
type ConfigError struct {
	Client  string // the name of its package
	Field   string
	Problem string
}

// Error includes the name of the field.
func (e *ConfigError) Error() string { return e.Client + ": " + e.Field + ": " + e.Problem }
