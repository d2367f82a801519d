package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// ErrTakenOver is why a run ends here that another process has opened to go on with it. Its journal
// is the other's now. See [StatusTakenOver].
var ErrTakenOver = errors.New("orchestrator: another process has taken the run over")

// lease is a run's share in [checkpoint.Leaser]: other processes see that somebody works on it.
// Every append extends the lease; where none comes for long, the keeper does.
type lease struct {
	time time.Duration // 0: there are no leases

	mu      sync.Mutex
	held    bool
	renewed time.Time
}

// next returns what the next append says of the lease: that it goes on or, with the last append,
// that it ends.
func (l *lease) next(last bool) time.Duration {
	if l.time == 0 || !last {
		return l.time
	}
	l.mu.Lock() // after what the keeper does just now
	defer l.mu.Unlock()
	l.held = false
	return -1
}

// appended notes that an append has extended the lease. One that failed may have extended it, or
// may not have ended it.
func (l *lease) appended(lease time.Duration, err error) {
	if lease > 0 || lease < 0 && err != nil {
		l.take()
	}
}

// take notes that the run has the lease from now on.
func (l *lease) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.renewed = true, time.Now()
}

// extend is the heartbeat of a run to which nothing was appended for a third of its lease. A run
// that was taken over is cut off.
func (r *run) extend(ctx context.Context) {
	l := &r.journal.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held || time.Since(l.renewed) < l.time/3 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.time/3)
	defer cancel()
	j := r.journal
	switch err := j.tryAppend(ctx, &checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Lease: l.time}); {
	case err == nil:
		l.renewed = time.Now()
	case errors.Is(err, checkpoint.ErrConflict):
		l.held = false
		r.cancel(ErrTakenOver)
	default:
		r.o.log(ctx, slog.LevelWarn, "a lease could not be extended", slog.String("run", r.id))
	}
}

// release ends the lease of a run that this process leaves as it is.
func (r *run) release() {
	l, j := &r.journal.lease, r.journal
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return
	}
	l.held = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Second)
	defer cancel()
	_ = j.tryAppend(ctx, &checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Lease: -1}) // else it runs out by itself
}
