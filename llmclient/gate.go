package llmclient

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// A gate lets callers pass in the order of their arrival, and none while it is closed or its limits
// are used up. No caller passes one that waits. The zero value is open and has no limits. A gate is
// safe for concurrent use.
type gate struct {
	mu      sync.Mutex
	arrived uint64    // number of callers so far
	until   time.Time // closed until then
	limits  *limits   // nil means none
	waiting []*waiter // by number; only the first uses a timer
}

// A waiter is one caller at a gate. It keeps its number when it returns.
type waiter struct {
	number uint64        // 0 before its arrival
	tokens int           // the tokens it takes, in addition to one request
	again  chan struct{} // signals that it must check again; capacity 1
}

func newWaiter() *waiter { return &waiter{again: make(chan struct{}, 1)} }

// errDeadline reports that a caller would have to wait longer than its context lasts.
var errDeadline = errors.New("the wait would outlast the context")

// close closes the gate until a time. A gate that is closed for longer stays closed.
func (g *gate) close(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !until.After(g.until) {
		return
	}
	g.until = until
	for _, w := range g.waiting {
		w.notify()
	}
}

// pass returns when w may continue. It calls onWait before it waits, and again when the wait
// becomes longer. It returns the context's error when ctx is done. If the wait would outlast ctx,
// it returns the wait and errDeadline at once.
func (g *gate) pass(ctx context.Context, w *waiter, onWait func(time.Duration)) (time.Duration, error) {
	var announced time.Time
	for {
		wait, first, passed := g.try(w)
		if passed {
			return 0, nil
		}
		if outlasts(ctx, wait) {
			g.leave(w)
			return wait, errDeadline
		}
		if end := time.Now().Add(wait); wait > 0 && end.After(announced.Add(time.Millisecond)) {
			announced = end
			onWait(wait)
		}
		if err := w.sleep(ctx, wait, first); err != nil {
			g.leave(w)
			return wait, err
		}
	}
}

// try lets w pass if its turn and its time have come. Otherwise w joins the queue, and try returns
// the expected wait.
func (g *gate) try(w *waiter) (wait time.Duration, first, passed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.number == 0 {
		g.arrived++
		w.number = g.arrived
	}
	place, in := slices.BinarySearchFunc(g.waiting, w.number, func(o *waiter, number uint64) int {
		return cmp.Compare(o.number, number)
	})
	now := time.Now()
	wait = max(g.until.Sub(now), g.limits.wait(now, g.waiting[:place], w))
	if place == 0 && wait <= 0 {
		g.limits.take(now, w)
		if in {
			g.remove(place)
		}
		return 0, true, true
	}
	if !in {
		g.waiting = slices.Insert(g.waiting, place, w)
	}
	return wait, place == 0, false
}

// leave removes w from the queue.
func (g *gate) leave(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if place := slices.Index(g.waiting, w); place >= 0 {
		g.remove(place)
	}
}

// remove removes the waiter at place from the queue and notifies the new first one. g.mu must be
// held.
func (g *gate) remove(place int) {
	g.waiting = slices.Delete(g.waiting, place, place+1)
	if place == 0 {
		g.notifyFirst()
	}
}

// notifyFirst notifies the first waiter, if any. g.mu must be held.
func (g *gate) notifyFirst() {
	if len(g.waiting) > 0 {
		g.waiting[0].notify()
	}
}

// notify makes w check again.
func (w *waiter) notify() {
	select {
	case w.again <- struct{}{}:
	default: // it was already notified
	}
}

// sleep waits until w is notified or, if it is the first, for at most the given time.
func (w *waiter) sleep(ctx context.Context, wait time.Duration, first bool) error {
	var clock <-chan time.Time
	if first {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		clock = timer.C
	}
	select {
	case <-w.again:
		return nil
	case <-clock:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outlasts reports whether ctx would be done before the end of a wait.
func outlasts(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && wait > 0 && time.Until(deadline) <= wait
}
