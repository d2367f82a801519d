package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/segue-go/segue/orchestrator"
)

// errInterrupted is the cause of the end of a run at a second Ctrl-C.
var errInterrupted = errors.New("interrupted")

// interrupts makes signals end the work on a run. If the run is kept, the first Ctrl-C, SIGTERM or
// SIGHUP (the terminal was closed) interrupts it: it goes on when it is resumed. If not, the first Ctrl-C closes stop, so that the
// run ends after its step, and a second one, or one of the other signals, cancels the context: the run ends now.
// After that the signals have their default effect again, so one more ends the process. say is
// called for each signal, on another goroutine. release restores the default handling.
func interrupts(parent context.Context, kept bool, say func(string)) (ctx context.Context, stop <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	stopping := make(chan struct{})
	over := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signal.Notify(signals, syscall.SIGHUP)
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		defer signal.Stop(signals)
		for asked := false; ; asked = true {
			select {
			case <-over:
				return
			case s := <-signals:
				switch {
				case kept:
					cancel(orchestrator.ErrInterrupted)
					say("interrupting the run; press Ctrl-C again to end at once")
					return
				case asked || s != os.Interrupt:
					cancel(errInterrupted)
					say("stopping now")
					return
				}
				close(stopping)
				say("stopping after this step; press Ctrl-C again to stop now")
			}
		}
	})
	return ctx, stopping, func() {
		close(over)
		listening.Wait()
		cancel(nil)
	}
}
