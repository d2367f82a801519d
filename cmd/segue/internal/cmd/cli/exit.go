package cli

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes. They are part of the interface.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitLimit       = 3
	ExitWaiting     = 4
	ExitProvider    = 5
	ExitNoAnswer    = 6
	ExitHungUp      = 129 // as shells have it: 128 and the number of the signal
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// exitStatus is an exit code, and what it means.
type exitStatus struct {
	Code        int
	Name, Means string
}

// ExitStatuses are all exit codes, in order: the help and README.md show them.
var ExitStatuses = []exitStatus{
	{ExitDone, "done", "done"},
	{ExitFailed, "failed", "the run failed"},
	{ExitUsage, "usage", "the command line or the configuration cannot be used"},
	{ExitLimit, "limit", "a limit was reached"},
	{ExitWaiting, "waiting", "the run waits for somebody, and nobody can be asked here"},
	{ExitProvider, "provider", "the provider or the network failed"},
	{ExitNoAnswer, "no answer", "the run is done, but the model gave no answer"},
	{ExitHungUp, "hung up", "the terminal was closed (SIGHUP)"},
	{ExitInterrupted, "interrupted", "interrupted (Ctrl-C, SIGINT), or stopped by segue stop"},
	{ExitTerminated, "terminated", "terminated (SIGTERM)"},
}

// ExitHelp lists the exit codes for the help.
func ExitHelp() string {
	var b strings.Builder
	for _, s := range ExitStatuses {
		fmt.Fprintf(&b, "\n  %-4d %s", s.Code, s.Means)
	}
	return b.String()
}

// ExitError is an error with an exit code.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the text of the cause.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Failed returns an error with the exit code for a failed run.
func Failed(err error) error { return &ExitError{Code: ExitFailed, Err: err} }

// ExitCode returns the exit code for the error of a command. An error without a code happened
// before any work began.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	return ExitUsage
}
