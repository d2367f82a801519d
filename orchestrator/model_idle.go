package orchestrator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/llmclient"
)

// idleTimer cancels a context when nothing has arrived for some time. It checks four times in that
// period, because resetting a timer for each delta would cost more than the delta.
type idleTimer struct {
	pieces      atomic.Int64
	later       bool // the silence before the first piece does not count: the reply may not be streamed
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	seen        int64
	silentLooks int
	mu          sync.Mutex // look may run while stop does
	done        bool
	pausedUntil time.Time // end of the client's own waiting time
}

const idleLooks = 4

func newIdleTimer(ctx context.Context, limit time.Duration, later bool) (context.Context, *idleTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &idleTimer{cancel: cancel, later: later}
	every := max(limit/idleLooks, time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(every, func() { w.look(limit, every) })
	return ctx, w
}

func (w *idleTimer) look(limit, every time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	if n := w.pieces.Load(); n != w.seen || n%2 == 1 || n == 0 && w.later || time.Now().Before(w.pausedUntil) {
		w.seen, w.silentLooks = n, 0
	} else {
		w.silentLooks++
	}
	if w.silentLooks >= idleLooks {
		w.cancel(&llmclient.Error{Code: llmclient.CodeTimeout, Message: "nothing arrived for " + limit.String(), Err: context.DeadlineExceeded})
		return
	}
	w.timer.Reset(every)
}

// pause says that the client itself waits before it asks again, so nothing can arrive meanwhile.
func (w *idleTimer) pause(wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pausedUntil, w.silentLooks = time.Now().Add(wait), 0
}

func (w *idleTimer) stop() {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.timer.Stop()
	w.cancel(nil)
}
