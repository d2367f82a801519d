package toolrun

import (
	"context"
	"sync"
	"time"

	"github.com/segue-go/segue/tools"
)

// callTime is a context that ends with the one of the caller, and at the time-out of a call. The
// time in which the tool asks a person does not count, so the time-out moves. Package context has
// nothing of the kind.
//
// It is the parent of a single context of package context, from which those of the tool derive.
type callTime struct {
	context.Context // of the caller
	call            *Running
	done            chan struct{}

	mu        sync.Mutex
	over      bool            // it has ended, or nobody needs it any more
	late      context.Context // has ended as a deadline ends it; nil before the time-out
	timer     *time.Timer
	caller    func() bool // forgets the end of the caller's context
	dependent func()      // ends the context that depends on this one
}

// limited returns a context for a call, which ends with the call's time.
func (c *Running) limited() (context.Context, context.CancelFunc) {
	c.time = &callTime{Context: c.parent, call: c, done: make(chan struct{})}
	return context.WithCancel(c.time)
}

// AfterFunc is called once by package context, with the function that ends the dependent context.
func (t *callTime) AfterFunc(f func()) (stop func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dependent = f
	t.caller = context.AfterFunc(t.Context, t.end)
	t.timer = time.AfterFunc(time.Until(t.call.due()), t.expire)
	if t.call.asked.Open() {
		t.timer.Stop()
	}
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.release()
	}
}

// release gives up what the context holds, and reports whether it still held it. The lock is held.
func (t *callTime) release() bool {
	if t.over {
		return false
	}
	t.over = true
	t.timer.Stop()
	t.caller()
	close(t.done)
	return true
}

// asks stops the timer while the tool asks a person, and goes on with it afterwards. t may be nil.
func (t *callTime) asks() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
	case t.call.asked.Open():
		t.timer.Stop()
	default:
		t.timer.Reset(time.Until(t.call.due()))
	}
}

// expire ends the context at the time-out. If it comes too early, because the tool asks, then asks
// sets the timer again.
func (t *callTime) expire() {
	t.mu.Lock()
	due := t.call.due()
	if t.over || t.call.asked.Open() || time.Now().Before(due) {
		t.mu.Unlock()
		return
	}
	late, cancel := context.WithDeadlineCause(t.Context, due, &tools.TimeoutError{Tool: t.call.call.Name, Timeout: t.call.timeout})
	cancel()
	t.late = late
	t.mu.Unlock()
	t.end()
}

// end ends the context, and the one that depends on it.
func (t *callTime) end() {
	t.mu.Lock()
	ends := t.release()
	t.mu.Unlock()
	if ends {
		t.dependent()
	}
}

// ended returns a context that has ended in the same way, or has not.
func (t *callTime) ended() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.late != nil {
		return t.late
	}
	return t.Context
}

// Deadline implements [context.Context]. It moves while the tool asks.
func (t *callTime) Deadline() (time.Time, bool) {
	due := t.call.due()
	if at, ok := t.Context.Deadline(); ok && at.Before(due) {
		return at, true
	}
	return due, true
}

// Done implements [context.Context].
func (t *callTime) Done() <-chan struct{} { return t.done }

// Err implements [context.Context].
func (t *callTime) Err() error { return t.ended().Err() }

// Value implements [context.Context]. Package context finds the cause of the end with it.
func (t *callTime) Value(key any) any { return t.ended().Value(key) }
