// Package asktime measures how long something waits for people.
package asktime

import (
	"sync"
	"time"
)

// Total is the time for which at least one question was open. The zero value is ready to use. It is
// safe for concurrent use.
type Total struct {
	mu    sync.Mutex
	open  int
	since time.Time // when the first of the open questions began
	sum   time.Duration
}

// Begin begins a question. Call the returned function once, when the question is over.
func (t *Total) Begin() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open++; t.open == 1 {
		t.since = time.Now()
	}
	return t.end
}

func (t *Total) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open--; t.open == 0 {
		t.sum += time.Since(t.since)
	}
}

// Open reports whether a question is open.
func (t *Total) Open() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open > 0
}

// Sum returns the time until now.
func (t *Total) Sum() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open > 0 {
		return t.sum + time.Since(t.since)
	}
	return t.sum
}
