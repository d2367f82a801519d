package tools

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The reasons of results with a status other than ok. See also messages.ReasonInterrupted.
const (
	ReasonError       = "error"        // the tool returned an error
	ReasonArguments   = "arguments"    // the tool cannot take these arguments
	ReasonUnknownTool = "unknown_tool" // there is no tool of that name; in a run such a call is machine.ReasonNotOffered
	ReasonTimeout     = "timeout"      // the tool was cut off by its time-out
	ReasonSuspended   = "suspended"    // the tool waits for an answer: there is no result, and the call is to be made again
	ReasonPanic       = "panic"        // the tool panicked, or ended its goroutine
)

// ErrEffectUnknown is wrapped by the error of a tool that cannot know whether its call had its
// effect, as when a connection broke while the answer was awaited. The status of the call is
// unknown instead of failed, unless the tool is ReadOnly or Idempotent: then it may be made again.
var ErrEffectUnknown = errors.New("tools: whether the call had its effect is unknown")

// TimeoutError is the cause (context.Cause) of a context that was ended by a tool's time-out.
type TimeoutError struct {
	Tool    string
	Timeout time.Duration
}

// Error includes the name of the tool and the time-out.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("tools: %s did not finish within %v", e.Tool, e.Timeout)
}

// Unwrap returns context.DeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }
