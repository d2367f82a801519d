package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// ErrTakenOver reports that another process has resumed the run. This process cannot write its
// journal any more. See [StatusTakenOver].
var ErrTakenOver = errors.New("orchestrator: another process has taken the run over")

// lease is the lease of a run in progress, see [checkpoint.Leaser]. Every append renews it; if no
// append comes for long, the keeper does.
type lease struct {
	time time.Duration // 0: there are no leases

	mu      sync.Mutex
	held    bool
	renewed time.Time
}

// next returns the Lease of the next batch: it renews the lease or, with the last append, ends it.
func (l *lease) next(last bool) time.Duration {
	if l.time == 0 || !last {
		return l.time
	}
	l.mu.Lock() // wait for a renewal by the keeper
	defer l.mu.Unlock()
	l.held = false
	return -1
}

// appended is called after an append with that Lease. After a failed append the run may have the
// lease, too.
func (l *lease) appended(lease time.Duration, err error) {
	if lease > 0 || lease < 0 && err != nil {
		l.take()
	}
}

// take is called when the run has the lease from now on.
func (l *lease) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.renewed = true, time.Now()
}

// extend renews the lease of a run without appends for a third of its time: the heartbeat. It
// cancels a run that was taken over.
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

// release ends the lease of a run that this process leaves.
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
	_ = j.tryAppend(ctx, &checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Lease: -1}) // after an error the lease runs out
}
