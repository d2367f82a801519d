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
// journal any more. See [machine.StatusTakenOver].
var ErrTakenOver = errors.New("orchestrator: another process has taken the run over")

// lease is the lease of a run in progress, see [checkpoint.Leaser]. Every append renews it; if no
// append comes for long, the keeper does.
type lease struct {
	time time.Duration // 0: there are no leases

	mu      sync.Mutex
	held    bool
	renewed time.Time
	beat    context.CancelFunc // ends the heartbeat in progress; nil: there is none
	beaten  chan struct{}      // closed when it has ended
}

// next returns the Lease of the next batch: it renews the lease or, with the last append, ends it.
func (l *lease) next(last bool) time.Duration {
	if l.time == 0 || !last {
		return l.time
	}
	l.drop()
	return -1
}

// drop ends the heartbeats, and reports whether the run had the lease.
func (l *lease) drop() bool {
	l.mu.Lock()
	held, cancel, beaten := l.held, l.beat, l.beaten
	l.held = false
	l.mu.Unlock()
	if cancel != nil {
		cancel()
		<-beaten
	}
	return held
}

// appended is called after an append with that Lease. After a failed append the run may have the
// lease, too.
func (l *lease) appended(lease time.Duration, err error) {
	if errors.Is(err, checkpoint.ErrConflict) { // it is another's
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = false
		return
	}
	if lease > 0 || lease < 0 && err != nil {
		l.take()
	}
}

// due reports whether the lease is to be renewed.
func (l *lease) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held && time.Since(l.renewed) >= l.time/3
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
	l, j := &r.journal.lease, r.journal
	ctx, cancel := context.WithTimeout(ctx, l.time/3)
	defer cancel()
	if !l.begin(cancel) {
		return
	}
	err := j.tryAppend(ctx, &checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Lease: l.time})
	switch held := l.end(err); {
	case !held || err == nil:
	case errors.Is(err, checkpoint.ErrConflict):
		r.cancel(ErrTakenOver)
	default:
		r.o.log(ctx, slog.LevelWarn, "a lease could not be extended", slog.String("run", r.id))
	}
}

// begin begins a heartbeat, and reports whether one is due. The lock is not held meanwhile: a store
// that takes long does not hold up the run.
func (l *lease) begin(cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held || time.Since(l.renewed) < l.time/3 {
		return false
	}
	l.beat, l.beaten = cancel, make(chan struct{})
	return true
}

// end ends a heartbeat, and reports whether the run had the lease until then.
func (l *lease) end(err error) (held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held = l.held
	switch {
	case !held:
	case err == nil:
		l.renewed = time.Now()
	case errors.Is(err, checkpoint.ErrConflict):
		l.held = false
	}
	close(l.beaten)
	l.beat, l.beaten = nil, nil
	return held
}

// release ends the lease of a run that this process leaves.
func (r *run) release() {
	j := r.journal
	if !j.lease.drop() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Second)
	defer cancel()
	_ = j.tryAppend(ctx, &checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Lease: -1}) // after an error the lease runs out
}
