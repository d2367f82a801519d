package sse

import (
	"errors"
	"net/http"
	"os"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// Error refuses a request: no run is started. The client gets the status, and the body
//
//	{"error": {"code": "bad_request", "message": "…"}}
//
// Other errors of a [Start], and errors at the beginning of a run's events, are sent as:
//
//	*http.MaxBytesError              413   too_large
//	os.ErrDeadlineExceeded           408   timeout
//	*strategy.UnknownError           404   unknown_strategy
//	checkpoint.ErrNotFound           403   run; [Config].OnError is called
//	checkpoint.ErrConflict           409   in_use, if the request may name the run: see [Authorized]
//	checkpoint.ErrConflict           403   run otherwise; [Config].OnError is called
//	checkpoint.ErrID                 400   bad_request
//	*machine.ReplyError              409   reply
//	any other                        500   internal, without its text; [Config].OnError is called
//
// An unknown run and a run that the client may not name are refused in the same way, in use or not,
// so that clients learn nothing about the runs of others.
type Error struct {
	Status  int    // an HTTP status; 0 means 500
	Code    string // for programs
	Message string // for people; sent to the client
	Err     error  // the cause, not sent to the client; may be nil
}

// Error returns the message, and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return "sse: " + e.Message
	}
	return "sse: " + e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// The codes of this package.
const (
	codeBadRequest      = "bad_request"
	codeMethod          = "method_not_allowed"
	codeMediaType       = "media_type"
	codeTooLarge        = "too_large"
	codeTimeout         = "timeout" // the body did not arrive in time
	codeUnknownStrategy = "unknown_strategy"
	codeRun             = "run"    // the run is unknown, or belongs to another client
	codeInUse           = "in_use" // a run of the client's exists already, or is in progress
	codeReply           = "reply"  // a reply does not fit any open wait of the run
	codeInternal        = "internal"
)

// refusal converts an error to the one that the client gets. failed is all that it gets to know of
// other errors.
func refusal(err error, failed string) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: codeTooLarge, Message: "the body is too large", Err: err}
	}
	if e, ok := errors.AsType[*strategy.UnknownError](err); ok {
		return &Error{Status: http.StatusNotFound, Code: codeUnknownStrategy, Message: guard.Bare(e), Err: err}
	}
	if e, ok := errors.AsType[*machine.ReplyError](err); ok {
		return &Error{Status: http.StatusConflict, Code: codeReply, Message: guard.Bare(e), Err: err}
	}
	switch {
	case errors.Is(err, checkpoint.ErrNotFound), errors.Is(err, checkpoint.ErrConflict):
		return noRun(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Status: http.StatusRequestTimeout, Code: codeTimeout, Message: "the body did not come in time", Err: err}
	case errors.Is(err, checkpoint.ErrID):
		return &Error{Status: http.StatusBadRequest, Code: codeBadRequest, Message: "the id of the run is not UTF-8 text of 1 to 512 bytes without NUL", Err: err}
	default:
		return &Error{Status: http.StatusInternalServerError, Code: codeInternal, Message: failed, Err: err}
	}
}

// refuse answers a request that was refused.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error, failed string) {
	e := refusal(err, failed)
	if e.Code == codeRun && errors.Is(err, checkpoint.ErrConflict) && accessOf(r).may != "" {
		e = &Error{Status: http.StatusConflict, Code: codeInUse, Message: "the run exists already, or is in progress: wait until it has ended, or choose another id", Err: err}
	}
	status := e.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if status >= http.StatusInternalServerError || e.Code == codeRun {
		h.report(r, err)
	}
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = e.Code, textcut.Short(e.Message, 500) // it may hold text of the client
	if status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // the rest of the body would come before the next request
	}
	send(w, status, body)
}
