package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// Recovery says how [Orchestrator.Recover] goes about it. The zero value is ready.
type Recovery struct {
	Every    time.Duration   // how often it looks; 0: a third of Config.Lease, and without leases 10 seconds
	Parallel int             // how many runs it works on at once; 0: 16
	Unknown  machine.Unknown // as in [Resumption]

	// Event hears what happens in the runs, as a consumer of [Orchestrator.Resume] does, the key of
	// its run beside each event. It is called from several goroutines at once. Nil hears nothing.
	Event func(checkpoint.Key, Event)

	// Factory returns the [Task].Factory of a run that was begun with one; nil where there is none:
	// then the run is parked. A nil Factory knows none.
	Factory func(checkpoint.Head) func() strategy.Strategy
}

// mostRecoveries is how often a run may end the process that has recovered it.
const mostRecoveries = 3

// Recover takes up runs of the Store that should go on and that nobody works on, until ctx is done:
// those whose process has died, so that their lease has run out; those whose timer has come, or
// whose wait has expired; and those to which something was posted. It is for every process of a
// server, beside its other work: each run is taken up by one of them. When ctx is done, the runs
// that it works on are interrupted, as by [ErrInterrupted], and Recover returns its cause.
//
// A run that cannot go on is parked: its head has the status checkpoint.StatusParked and the
// reason. So is one whose recovery ended the process three times. Recover leaves parked runs alone,
// unless another [Config].Version parked them. [Orchestrator.Resume] tries them in any case. Runs
// that were written in a later format of records are left to the programs that know it.
//
// It returns a [*ConfigError] at once if the Store is no [checkpoint.Lister] or no
// [checkpoint.Leaser]. Faults of the Store are logged, and it tries again.
func (o *Orchestrator) Recover(ctx context.Context, how Recovery) error {
	lister, ok := checkpoint.As[checkpoint.Lister](o.cfg.Store)
	switch {
	case !ok:
		return &ConfigError{Field: "Store", Err: errors.New("is no checkpoint.Lister: it cannot say which runs there are")}
	case o.leaser == nil:
		return &ConfigError{Field: "Store", Err: errors.New("is no checkpoint.Leaser, or Config.Lease is negative: nobody can say which runs are worked on")}
	}
	how.Every = cmp.Or(how.Every, o.cfg.Lease/3)
	r := recoverer{o: o, how: how, lister: lister, places: make(chan struct{}, max(1, cmp.Or(how.Parallel, 16)))}
	defer r.all.Wait()
	for {
		r.look(ctx)
		if !sleep(ctx, how.Every) {
			return context.Cause(ctx)
		}
	}
}

// recoverer is a Recover in progress.
type recoverer struct {
	o      *Orchestrator
	how    Recovery
	lister checkpoint.Lister
	places chan struct{}
	all    sync.WaitGroup

	mu    sync.Mutex
	later map[checkpoint.Key]time.Time // runs that could not be opened, and when to try again
}

// look takes up the runs that should go on now.
func (c *recoverer) look(ctx context.Context) {
	open := []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting}
	for _, q := range []checkpoint.Query{
		{Status: []checkpoint.Status{"", checkpoint.StatusRunning}},
		{Status: open, Due: time.Now()},
		{Status: open, Posted: true},
		{Status: []checkpoint.Status{checkpoint.StatusParked}},
	} {
		q.All, q.Unleased, q.Limit = true, true, 1000
		for {
			page, err := c.lister.List(ctx, q)
			if err != nil {
				c.o.log(ctx, slog.LevelWarn, "the runs to recover could not be listed", slog.String("error", err.Error()))
				return
			}
			for i := range page.Heads {
				if h := &page.Heads[i]; c.wants(h) && !c.take(ctx, h) {
					return
				}
			}
			if q.After = page.Next; q.After.IsZero() {
				break
			}
		}
	}
}

// wants reports whether a run is to be taken up now.
func (c *recoverer) wants(h *checkpoint.Head) bool {
	switch {
	case h.Header.Format > machine.RecordVersion: // another program knows it
		return false
	case h.Header.Status == checkpoint.StatusParked && h.Header.Version == c.o.cfg.Version:
		return false
	case c.o.keeper.get(h.Key) != nil:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !time.Now().Before(c.later[h.Key])
}

// take has a run go on, on a goroutine of its own. It returns false if ctx is done.
func (c *recoverer) take(ctx context.Context, h *checkpoint.Head) bool {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	c.all.Go(func() {
		defer func() { <-c.places }()
		err := c.recover(ctx, h)
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.later, h.Key); err != nil {
			if c.later == nil {
				c.later = map[checkpoint.Key]time.Time{}
			}
			c.later[h.Key] = time.Now().Add(3 * c.how.Every)
		}
	})
	return true
}

// recover goes on with a run. It returns an error if the run could not be opened.
func (c *recoverer) recover(ctx context.Context, h *checkpoint.Head) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(ErrInterrupted) })()
	how := &Resumption{Run: h.Key.Run, Namespace: h.Key.Namespace, Unknown: c.how.Unknown, expires: true}
	if c.how.Factory != nil {
		how.Factory = c.how.Factory(*h)
	}
	r, now, err := c.o.open(own, how)
	if err != nil {
		return err
	}
	defer r.close()
	if r.journal.lease.time == 0 || now.Header.Status.Ended() { // it has ended since it was listed
		return nil
	}
	if now.Recoveries > mostRecoveries {
		return r.park(fmt.Sprintf("its recovery has ended the process %d times", mostRecoveries))
	}
	if err := r.read(how.Factory); err != nil {
		return r.parkFor(err)
	}
	if r.m.Done() {
		return nil
	}
	if err := r.applyResumption(how); err != nil {
		return r.parkFor(err)
	}
	r.collectPosted()
	r.drive(func(e Event, _ error) bool {
		if c.how.Event != nil {
			c.how.Event(h.Key, e)
		}
		return true
	})
	return nil
}

// parkFor parks a run that cannot go on as things are now. A store that fails may do better later.
func (r *run) parkFor(err error) error {
	if e, ok := errors.AsType[*JournalError](err); ok && (e.Record == 0 || errors.Is(err, checkpoint.ErrConflict)) {
		return err
	}
	return r.park(err.Error())
}

// park says in the head of a run that it goes on only if somebody says so.
func (r *run) park(reason string) error {
	j := r.journal
	h := j.header
	h.Status, h.Reason, h.Version = checkpoint.StatusParked, reason, r.o.cfg.Version
	r.o.log(r.ctx, slog.LevelWarn, "run parked", slog.String("run", r.id))
	b := checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Header: &h}
	if err := j.tryAppend(j.lastingContext(r.ctx), &b); err != nil {
		return &JournalError{Run: r.id, Err: err}
	}
	return nil
}
