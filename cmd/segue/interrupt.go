package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// errInterrupted is the cause of the end of a run at a second Ctrl-C.
var errInterrupted = errors.New("interrupted")

// interrupts makes signals stop a run. The first Ctrl-C closes stop: the run ends after its step.
// The second Ctrl-C, or a SIGTERM, cancels the context: the run ends now. After that the signals
// have their default effect again, so one more ends the process. say is called for each signal, on
// another goroutine. release restores the default handling.
func interrupts(parent context.Context, say func(string)) (ctx context.Context, stop <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	stopping := make(chan struct{})
	over := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var listening sync.WaitGroup
	listening.Go(func() {
		defer signal.Stop(signals)
		for asked := false; ; asked = true {
			select {
			case <-over:
				return
			case s := <-signals:
				if asked || s != os.Interrupt {
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
