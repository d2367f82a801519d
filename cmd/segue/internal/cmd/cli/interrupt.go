package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/segue-go/segue/orchestrator"
)

// SignalError is the cause of the end of work at a signal.
type SignalError struct {
	signal os.Signal
	Kept   bool // the run is kept, so it goes on when it is resumed
}

// Error says what happened, in a word.
func (e *SignalError) Error() string {
	switch e.signal {
	case syscall.SIGHUP:
		return "hung up"
	case syscall.SIGTERM:
		return "terminated"
	default:
		return "interrupted"
	}
}

// Unwrap returns ErrInterrupted if the run is kept: then it has not ended.
func (e *SignalError) Unwrap() error {
	if e.Kept {
		return orchestrator.ErrInterrupted
	}
	return nil
}

// Code returns the exit code, as shells have it: 128 and the number of the signal.
func (e *SignalError) Code() int {
	switch e.signal {
	case syscall.SIGHUP:
		return ExitHungUp
	case syscall.SIGTERM:
		return ExitTerminated
	default:
		return ExitInterrupted
	}
}

// EndedBySignal returns the error of a command whose context ended by a signal.
func EndedBySignal(ctx context.Context) error {
	if e, ok := errors.AsType[*SignalError](context.Cause(ctx)); ok {
		return &ExitError{Code: e.Code(), Err: e}
	}
	return &ExitError{Code: ExitInterrupted, Err: errors.New("interrupted")}
}

// hangsUp returns the error of a command whose terminal was closed, which a write to it may say
// before the signal does. From then on a SIGHUP does not end the process.
func hangsUp() error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return &ExitError{Code: ExitHungUp, Err: &SignalError{signal: syscall.SIGHUP}}
}

// HungUp reports whether a context ended because the terminal was closed: nobody reads what is
// written.
func HungUp(ctx context.Context) bool {
	e, ok := errors.AsType[*SignalError](context.Cause(ctx))
	return ok && e.signal == syscall.SIGHUP
}

// Interrupts makes the first Ctrl-C, SIGTERM or SIGHUP cancel the context, which ends what is in
// progress at once: a request, a wait between retries, a tool, a question. If the run is kept, it
// goes on when it is resumed. After that Ctrl-C and SIGTERM have their default effect again, so one
// more ends the process; a SIGHUP, which often comes more than once, does not. SIGHUP is left alone
// if the process was told to ignore it (nohup). first is called before all that, and must not
// block. say is called after the context was canceled, on another goroutine, but not for SIGHUP:
// nobody reads it. said returns when say has returned, if it was called. release restores the
// default handling.
func Interrupts(parent context.Context, kept bool, first, say func()) (ctx context.Context, said, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	over := make(chan struct{})
	signals, later := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		defer signal.Stop(signals)
		select {
		case <-over:
		case s := <-signals:
			first()
			signal.Notify(later, syscall.SIGHUP)
			if s == syscall.SIGHUP {
				signal.Notify(later, syscall.SIGPIPE) // else a write to a pipe that is gone ends the process
			}
			cancel(&SignalError{signal: s, Kept: kept})
			signal.Stop(signals) // before anything that may block
			if s != syscall.SIGHUP {
				say()
			}
		}
	})
	said = func() {
		if _, ok := errors.AsType[*SignalError](context.Cause(ctx)); ok {
			listening.Wait()
		}
	}
	return ctx, said, func() {
		close(over)
		listening.Wait()
		if !HungUp(ctx) {
			signal.Stop(later)
		}
		cancel(nil)
	}
}

// UntilSignal returns a context that a signal ends, for commands that make no run.
func UntilSignal(parent context.Context) (context.Context, func()) {
	ctx, _, release := Interrupts(parent, false, func() {}, func() {})
	return ctx, release
}

// UntilEnded returns a context that SIGTERM or SIGHUP ends, for a chat: there Ctrl-C ends a turn.
func UntilEnded(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case s := <-signals:
			cancel(&SignalError{signal: s, Kept: true})
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		listening.Wait()
	}
}
