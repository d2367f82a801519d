package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// Recovery configures [Orchestrator.Recover]. The zero value is ready to use.
type Recovery struct {
	Every    time.Duration   // how often it looks for runs at least; 0: every third of Config.Lease
	Parallel int             // most runs in progress at once; 0: 16
	Unknown  machine.Unknown // as in [Resumption]

	// Event is called with every event of the runs. It is called concurrently, in order for each
	// run. It may be nil.
	Event func(checkpoint.Key, machine.Event)

	// Factory returns the [Task].Factory of a run that was begun with one, or nil if it does not
	// know it; then the run is parked. Factory may be nil.
	Factory func(checkpoint.Head) func() strategy.Strategy
}

// mostRecoveries is how often the process may die while it recovers a run.
const mostRecoveries = 3

// Recover resumes runs of the Store, until ctx is done: runs whose process has died, so that their
// lease has run out; runs whose timer has come or whose wait has expired; and runs that have
// messages in their inbox, at once if they were posted through this Orchestrator. Every process of
// a server may call it; each run is resumed by one of them. When ctx is done, Recover interrupts
// the runs it works on, see [ErrInterrupted], and returns the cause of ctx.
//
// A run that cannot continue is parked: its head gets the status checkpoint.StatusParked and the
// reason. So is one whose records are damaged, see [checkpoint.ErrCorrupt]. A run is also parked if
// the process died three times while it recovered the run, or if a newer program wrote it in a
// later format of records: the reason names the version of that program. Recover ignores parked
// runs, unless a Recover with another [Config].Version parked them; so it never starts forks and
// imported runs. [Orchestrator.Resume] resumes them all. Recover also ignores a run in a later
// format if Config.Version is empty, or is that of the program that wrote the run: if it were
// parked, no newer program would take it.
//
// The error is a [*ConfigError] if the Store is not a [checkpoint.Lister] and a
// [checkpoint.Leaser]. Errors of the Store are logged, and Recover tries again; so are damaged
// heads, which keep no other run from being resumed.
func (o *Orchestrator) Recover(ctx context.Context, how Recovery) error {
	lister, ok := checkpoint.As[checkpoint.Lister](o.cfg.Store)
	switch {
	case !ok:
		return &ConfigError{Field: "Store", Err: errors.New("is no checkpoint.Lister: it cannot say which runs there are")}
	case o.leaser == nil:
		return &ConfigError{Field: "Store", Err: errors.New("is no checkpoint.Leaser, or Config.Lease is negative: nobody can say which runs are worked on")}
	}
	if how.Every <= 0 {
		how.Every = o.cfg.Lease / 3
	}
	r := recoverer{
		o: o, how: how, lister: lister, places: make(chan struct{}, max(1, cmp.Or(how.Parallel, 16))),
		busy: map[checkpoint.Key]bool{}, later: map[checkpoint.Key]time.Time{}, parked: map[checkpoint.Key]int{},
	}
	defer r.all.Wait()
	for next := time.Now(); ; {
		all := !time.Now().Before(next)
		if all {
			next = time.Now().Add(how.Every)
		}
		r.look(ctx, all)
		select {
		case <-time.After(time.Until(next)):
		case <-o.posted:
		case <-ctx.Done():
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
	busy  map[checkpoint.Key]bool      // runs that were taken
	later map[checkpoint.Key]time.Time // runs that could not be opened, with the time to try again

	// Runs that were parked here, with their last record: until they have come further they are not
	// taken again, even if another version has parked them since.
	parked map[checkpoint.Key]int
}

// look resumes the runs that should continue now: all, or those that have messages.
func (c *recoverer) look(ctx context.Context, all bool) {
	c.mu.Lock()
	maps.DeleteFunc(c.later, func(_ checkpoint.Key, at time.Time) bool { return time.Now().After(at) })
	c.mu.Unlock()
	open := []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting}
	queries := []checkpoint.Query{
		{Status: open, Posted: true},
		{Status: []checkpoint.Status{"", checkpoint.StatusRunning}},
		{Status: open, Due: time.Now()},
		{Status: []checkpoint.Status{checkpoint.StatusParked}},
	}
	if !all {
		queries = queries[:1]
	}
	for _, q := range queries {
		q.All, q.Unleased, q.Limit = true, true, 1000
		for {
			var page checkpoint.Page
			err := c.o.guard(ctx, "", "List", func() (err error) {
				page, err = c.lister.List(ctx, q)
				return err
			})
			if err != nil {
				c.o.log(ctx, slog.LevelWarn, "the runs to recover could not be listed", slog.String("error", err.Error()))
			}
			if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) { // damaged heads keep back no others
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

// wants reports whether a run should be resumed now.
func (c *recoverer) wants(h *checkpoint.Head) bool {
	switch {
	case h.Header.Format > machine.RecordVersion && !c.parksNewer(h):
		return false
	case h.Header.Status == checkpoint.StatusParked && (h.Header.Version == c.o.cfg.Version || h.Header.Version == ""):
		return false
	case c.o.keeper.get(h.Key) != nil:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, here := c.parked[h.Key]; here && last == h.Last && h.Header.Status == checkpoint.StatusParked {
		return false
	}
	delete(c.parked, h.Key)
	return !c.busy[h.Key] && !time.Now().Before(c.later[h.Key])
}

// parksNewer reports whether a run in a later format of records is parked here, for the newer
// program that wrote it. That one takes it only if this program has another version.
func (c *recoverer) parksNewer(h *checkpoint.Head) bool {
	own := c.o.cfg.Version
	return h.Header.Status != checkpoint.StatusParked && own != "" && own != h.Header.Version
}

// take resumes a run on a new goroutine. It returns false if ctx is done.
func (c *recoverer) take(ctx context.Context, h *checkpoint.Head) bool {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	c.mu.Lock()
	c.busy[h.Key] = true
	c.mu.Unlock()
	c.all.Go(func() {
		defer func() { <-c.places }()
		err := c.recover(ctx, h)
		c.mu.Lock()
		defer c.mu.Unlock()
		if errors.Is(err, errParked) {
			c.parked[h.Key], err = h.Last, nil
		}
		delete(c.busy, h.Key)
		if delete(c.later, h.Key); err != nil {
			c.later[h.Key] = time.Now().Add(3 * c.how.Every)
		}
	})
	return true
}

// recover resumes a run. It returns an error if the run could not be opened, and errParked if it
// was parked instead.
func (c *recoverer) recover(ctx context.Context, h *checkpoint.Head) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(ErrInterrupted) })()
	how := &Resumption{Run: h.Key.Run, Namespace: h.Key.Namespace, Unknown: c.how.Unknown, expires: true}
	r, now, err := c.o.open(own, how)
	if err != nil {
		return err
	}
	defer r.close()
	if r.journal.lease.time == 0 || now.Header.Status.Ended() { // it has ended since it was listed
		return nil
	}
	if now.Header.Format > machine.RecordVersion {
		if !c.parksNewer(&now) { // a newer program has stored it since it was listed
			return nil
		}
		return r.parkHere(fmt.Sprintf("version %q of the program wrote it: %v", now.Header.Version, &machine.VersionError{Version: now.Header.Format}))
	}
	if now.Recoveries > mostRecoveries {
		if err := r.tryAgain(&now); err != nil {
			return err
		}
	}
	if err := c.factory(r, &now, how); err != nil {
		return r.parkHere(err.Error())
	}
	if err := r.read(how.Factory); err != nil {
		return r.parkFor(err)
	}
	if r.m.Done() {
		return nil
	}
	if err := r.applyResumption(how); err != nil {
		if _, ok := errors.AsType[*JournalError](err); ok { // the store has failed: it may work again later
			return err
		}
		return r.parkHere(err.Error())
	}
	r.drive(func(e machine.Event, _ error) bool {
		if c.how.Event != nil {
			c.how.Event(h.Key, e)
		}
		return true
	})
	if r.unkept() != nil {
		return errParked
	}
	if r.journal.inbox.later || r.journal.last == now.Last { // a newer program, or nobody, can read what was posted
		return errStays
	}
	return nil
}

// tryAgain lets this version try a run once, if other versions have parked it because its
// recoveries ended the process: the reason names the versions that have tried. It parks a run that
// is not parked, under the version that has tried last.
func (r *run) tryAgain(now *checkpoint.Head) error {
	h, mine := now.Header, fmt.Sprintf("with version %q", r.o.cfg.Version)
	switch {
	case h.Status == checkpoint.StatusParked && strings.Contains(h.Reason, mine):
		return errParked
	case h.Status == checkpoint.StatusParked:
		h.Status, h.Version, h.Reason = checkpoint.StatusRunning, r.o.cfg.Version, h.Reason+", and then "+mine
		return r.keepHeader(h)
	case h.Reason == "":
		return r.parkHere(fmt.Sprintf("its recovery has ended the process %d times, %s", now.Recoveries-1, mine))
	}
	h.Status = checkpoint.StatusParked
	return cmp.Or(r.keepHeader(h), errParked)
}

// factory asks for the factory of a run, which this process has: if that ends the process, the
// recovery counts.
func (c *recoverer) factory(r *run, h *checkpoint.Head, how *Resumption) (err error) {
	if c.how.Factory == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			p := &machine.PanicError{Value: v, Stack: debug.Stack()}
			c.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Where: "Recovery.Factory", Value: v, Stack: p.Stack})
			err = p
		}
	}()
	how.Factory = c.how.Factory(*h)
	return nil
}

// parkFor parks a run that cannot continue, unless the store has failed: it may work again later.
func (r *run) parkFor(err error) error {
	damage := errors.Is(err, checkpoint.ErrCorrupt)
	if e, ok := errors.AsType[*JournalError](err); ok && (e.Record == 0 && !damage || errors.Is(err, checkpoint.ErrConflict)) {
		return err
	}
	return r.parkHere(err.Error())
}

// errParked reports that a run was parked.
var errParked = errors.New("orchestrator: the run is parked")

// parkHere parks a run, and returns errParked if that is stored.
func (r *run) parkHere(reason string) error {
	if err := r.park(reason); err != nil {
		return err
	}
	return errParked
}

// park sets the status of a run to parked.
func (r *run) park(reason string) error {
	h := r.journal.header
	h.Status, h.Reason, h.Version = checkpoint.StatusParked, reason, r.o.cfg.Version
	return r.keepHeader(h)
}

// keepHeader stores a header without a record.
func (r *run) keepHeader(h checkpoint.Header) error {
	j := r.journal
	if h.Status == checkpoint.StatusParked {
		r.o.log(r.ctx, slog.LevelWarn, "run parked", slog.String("run", r.id))
	}
	b := checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Header: &h}
	if err := j.tryAppend(j.lastingContext(r.ctx), &b); err != nil {
		return &JournalError{Run: r.id, Err: err}
	}
	j.header = h
	return nil
}
