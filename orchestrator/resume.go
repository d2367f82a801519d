package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
	"github.com/segue-go/segue/strategy"
)

// Resumption says how a run goes on that stands in a journal. Run is required.
type Resumption struct {
	Run       string
	Namespace string                   // as in the [Task]
	Replies   []machine.Reply          // to what it waits for; missing ones are waited for again; moot once an earlier one has closed their wait
	Stop      <-chan struct{}          // as in [Task]
	Notes     <-chan string            // as in [Task]
	Factory   func() strategy.Strategy // the Factory of the [Task], if it had one; else nil
	Limits    delegation.Limits        // of the whole run from now on, what it has used included; zero fields stay as they are
	Unknown   machine.Unknown          // what becomes of calls that may have had their effect when the run broke off; "": a person is asked

	// TakeOver goes on with the run although another process has its lease and may be at work: that
	// one is fenced off, even if the resumption then fails, and what it is doing may be done twice
	// if that is safe. Without it such a run is a [*RunExistsError]. Of several that take a run
	// over at once, with leases, one goes on with it.
	TakeOver bool

	expires bool // waits that have expired end, all of them; else timers alone do, and others are asked anew
}

// Resume goes on with a run from its journal in Config.Store, in whatever process: nothing that has
// an answer there is done again. A call that was begun and has no answer there, of a tool that is
// neither read-only nor idempotent, may have had its effect: it is not made again unless somebody
// says so in reply to a Wait of kind [machine.WaitUnknown]. Of a run that has ended, Resume yields
// the last event.
//
// The first event is RunResumed, or a RunMigrated before it, see [Config].Migrate. What goes wrong
// before is an error without an event: a [*JournalError] (wrapping checkpoint.ErrNotFound, or
// ErrConflict where somebody else has resumed the run), a [*RunExistsError] for a run that is in
// progress in this Orchestrator, a [*machine.ReplayError], a [*machine.SnapshotError] of a run that
// another version of the program was migrated to, a [*FactoryError], a [*ConfigError] if a tool is
// missing that the run has called, or a [*machine.ReplyError]; after them the run is as it was. A
// Resume without a reply, of a run that waits, changes nothing in its journal. Timeouts count from
// now.
func (o *Orchestrator) Resume(ctx context.Context, how Resumption) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		r, err := o.load(ctx, &how)
		if err != nil {
			yield(machine.Event{}, err)
			return
		}
		defer r.close()
		if r.m.Done() {
			r.ended(how.Replies, yield)
			return
		}
		if err := r.applyResumption(&how); err != nil {
			yield(machine.Event{}, err)
			return
		}
		r.drive(yield)
	}
}

// ended tells again how a run has ended.
func (r *run) ended(replies []machine.Reply, yield func(machine.Event, error) bool) {
	if len(replies) > 0 {
		yield(machine.Event{}, &machine.ReplyError{Run: r.id, WaitID: replies[0].WaitID, Problem: "the run has ended"})
		return
	}
	out := r.m.Output()
	e := r.finished(r.m.Status(), out)
	yield(e, r.causes.outcome(out.Err))
}

// load makes a run of what its journal says.
func (o *Orchestrator) load(ctx context.Context, how *Resumption) (*run, error) {
	r, _, err := o.open(ctx, how)
	if err != nil {
		return nil, err
	}
	r.stop, r.notes = how.Stop, how.Notes
	if err := r.read(how.Factory); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// open takes a run for this process, so that it can be read and gone on with, and returns its head
// as it is then. One that has ended is not taken.
func (o *Orchestrator) open(ctx context.Context, how *Resumption) (*run, checkpoint.Head, error) {
	var head checkpoint.Head
	key := checkpoint.Key{Namespace: how.Namespace, Run: how.Run}
	if err := o.checkKey(key); err != nil {
		return nil, head, err
	}
	r := o.newRun(ctx, key, true, false)
	err := r.claim()
	if err == nil {
		head, err = r.openJournal(how.TakeOver)
	}
	if err != nil {
		r.close()
		return nil, head, err
	}
	return r, head, nil
}

// openJournal takes the lease of a run, and begins an epoch of its own.
func (r *run) openJournal(takeOver bool) (head checkpoint.Head, err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &machine.PanicError{Value: v, Stack: debug.Stack()}
			r.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Where: "the store", Value: v, Stack: p.Stack})
			err = &JournalError{Run: r.id, Err: p}
		}
	}()
	j := r.journal
	head, err = j.store.Head(r.ctx, j.key)
	j.epoch = head.Epoch + 1
	leases := err == nil && r.journal.lease.time > 0 && !head.Header.Status.Ended()
	switch {
	case err != nil:
	case takeOver && !head.Header.Status.Ended(): // fences off at once whoever works on it, and ends that lease
		err = j.store.Append(r.ctx, checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch})
		if err == nil && leases { // of two that take over at once one gets it
			head, err = r.takeLease()
		}
	case leases:
		head, err = r.takeLease()
	}
	switch {
	case errors.Is(err, checkpoint.ErrLeased):
		return head, &RunExistsError{Run: r.id, InProgress: true, Err: &leasedError{err}}
	case err != nil:
		err = storeError(j.key, err)
		r.logStoreFault(r.ctx, "a journal could not be read", err)
		return head, err
	case leases:
		r.journal.lease.take()
	}
	j.header = head.Header
	j.stale = head.Header.Version != r.o.cfg.Version || head.Header.Format != machine.RecordVersion
	return head, nil
}

// takeLease takes the lease of a run, and with it an epoch that no other process has.
func (r *run) takeLease() (checkpoint.Head, error) {
	j, leaser := r.journal, r.o.leaser
	head, err := leaser.Lease(r.ctx, j.key, j.writer, j.lease.time)
	j.epoch = head.Epoch
	if err != nil && !errors.Is(err, checkpoint.ErrLeased) && !errors.Is(err, checkpoint.ErrNotFound) {
		// It may have been taken. If it stayed it would run out, as that of a process that has
		// died.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Second)
		defer cancel()
		_, _ = leaser.Lease(ctx, j.key, j.writer, 0)
	}
	return head, err
}

// read applies the records of the journal that were not applied yet.
func (r *run) read(factory func() strategy.Strategy) (err error) {
	use := func(_ context.Context, s *machine.Started) error { return r.useFactory(s, factory) }
	rd := &journals.Reading{Key: r.journal.key, Store: r.journal.store, Machine: r.m, Last: r.journal.last, Use: use, Damaged: damaged(r.journal.key)}
	r.replays = true
	defer func() {
		r.replays = false
		if e, ok := errors.AsType[*machine.ReplayError](err); ok {
			e.Epoch = r.journal.epoch
		}
		if v := recover(); v != nil {
			p := &machine.PanicError{Value: v, Stack: debug.Stack()}
			r.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Where: "reading the journal", Value: v, Stack: p.Stack})
			err = rd.Damaged(rd.Last+1, p)
		}
		if err != nil && !isRefusal(err) {
			r.logStoreFault(r.ctx, "a journal could not be read", err)
		}
	}()
	for stored, err := range rd.Records(r.ctx) {
		if cause := context.Cause(r.ctx); err != nil && errors.Is(cause, ErrTakenOver) { // the context ends by it
			return rd.Damaged(0, cause)
		}
		if err == nil {
			err = r.applyStored(rd, stored)
		}
		if err != nil {
			return err
		}
	}
	if r.journal.last = rd.Last; rd.Last == 0 {
		return rd.Damaged(0, journals.Corrupt(errors.New("it is empty")))
	}
	if rd.Unfit != nil {
		err := r.migrate(rd.Unfit, factory)
		if _, failed := errors.AsType[*storeFailure](err); failed {
			return rd.Damaged(0, err)
		}
		if err != nil && !isRefusal(err) {
			err = rd.Damaged(rd.Unfit.Place, err)
		}
		if err != nil {
			return err
		}
	}
	r.now = r.m.Now()
	return r.lacksTool()
}

// lacksTool returns an error if the run has an open call of a tool that this program does not have:
// a person may have approved it, and another program can make it. A run that is to stop needs none.
func (r *run) lacksTool() error {
	for _, e := range r.m.Open() {
		if e.Call.Name == "" || r.o.toolOf(&e) != nil {
			continue
		}
		if stops, err := r.stopsFirst(); err != nil {
			return err
		} else if !stops {
			return &ConfigError{Field: "Tools", Err: fmt.Errorf("run %.64q has an open call of the tool %.64q, which is missing here", r.id, e.Call.Name)}
		}
	}
	return nil
}

// isRefusal reports whether an error says that a run cannot be gone on with as things are now,
// although its journal is as it should be.
func isRefusal(err error) bool {
	_, config := errors.AsType[*ConfigError](err)
	_, factory := errors.AsType[*FactoryError](err)
	return config || factory || journals.IsMisfit(err)
}

// applyStored applies one record of the journal, and keeps what the run needs of it. It does not
// decode the records behind an unfit one.
func (r *run) applyStored(rd *journals.Reading, stored checkpoint.Record) error {
	if rd.Unfit != nil && stored.Type != machine.TypeOf(machine.Migrated{}) {
		rd.Last++
		return nil
	}
	rec, err := rd.Decode(stored)
	if err != nil {
		return err
	}
	if s, ok := rec.(machine.Stopped); ok && s.Frame == "" {
		r.ending = stopsAfter
	}
	r.large.note(rec)
	events, err := rd.Apply(r.ctx, rec)
	if r.journal.driven { // every process knows the same of its time
		r.now = r.m.Now()
	}
	for _, e := range events {
		if e.Kind == machine.EventDrifted { // all else was told when it happened
			r.drifted = append(r.drifted, e)
		}
		if r.o.agentTimeouts {
			r.timeAgent(&e) // its time counts from now
		}
	}
	return err
}

// expire ends the waits whose time has come: timers alone, or all of them. A reply that was posted
// before counts.
func (r *run) expire(all bool, posted []checkpoint.Message) error {
	for _, w := range r.m.Waits() {
		if w.Expires.IsZero() || w.Expires.After(r.now) {
			continue
		}
		if replied, err := r.replyInTime(&w, posted); replied || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if w.Kind != machine.WaitTimer && !all {
			continue
		}
		if err := r.apply(machine.Replied{At: r.now, Reply: machine.Reply{WaitID: w.ID}, Expired: true}); err != nil {
			return err
		}
	}
	return nil
}

// applyResumption goes on with a run, and gives it the replies: all of them or none. That it was
// taken up is stored together with what comes of it. If the inbox cannot be read, applyResumption
// fails, since a stop may be there.
func (r *run) applyResumption(how *Resumption) error {
	posted, err := r.posted()
	if err != nil {
		return err
	}
	r.now = time.Now()
	if err := r.expire(how.expires, posted); err != nil {
		return err
	}
	if err := r.lookUp(); err != nil {
		return err
	}
	if err := r.apply(machine.Resumed{At: r.now, Limits: how.Limits, Unknown: how.Unknown}); err != nil {
		return err
	}
	if r.journal.idle++; len(r.m.Ready().Events) > 1 {
		r.journal.idle = 0
	}
	r.replied = make(map[string]bool, len(how.Replies))
	asked := r.m.Waits()
	for _, reply := range how.Replies {
		its := func(w machine.Wait) bool { return w.ID == reply.WaitID }
		err := r.apply(machine.Replied{At: r.now, Reply: reply})
		if err != nil && !r.replied[reply.WaitID] && slices.ContainsFunc(asked, its) && !slices.ContainsFunc(r.m.Waits(), its) {
			continue // what came of an earlier reply has closed the wait
		}
		if errors.Is(err, machine.ErrDone) {
			err = &machine.ReplyError{Run: r.id, WaitID: reply.WaitID, Problem: "the run has ended"}
		}
		if err != nil {
			if refused, ok := errors.AsType[*machine.ReplyError](err); ok {
				r.logReplyRefused(r.ctx, refused)
			}
			return err
		}
		r.replied[reply.WaitID] = true
	}
	if !r.journal.driven { // else it is stored together with the intents that follow
		if err := r.store(); err != nil {
			return err
		}
	}
	r.collect(posted)
	return nil
}

// configureSnapshots finds the ability of the Store to keep snapshots.
func (o *Orchestrator) configureSnapshots() error {
	o.snapshots, _ = checkpoint.As[checkpoint.SnapshotStore](o.cfg.Store)
	field := ""
	switch {
	case o.snapshots != nil:
		return nil
	case o.cfg.Snapshots:
		field = "Snapshots"
	case o.cfg.Migrate != nil:
		field = "Migrate"
	default:
		return nil
	}
	return &ConfigError{Field: field, Err: errors.New("needs a Store that is a checkpoint.SnapshotStore, such as that of package sqlitestore")}
}

// saveSnapshot saves the state of a run that comes to wait, if the records that led to it are
// stored. A failure does not end the run.
func (r *run) saveSnapshot() {
	j := r.journal
	if j == nil || !r.o.cfg.Snapshots || len(j.pending) > 0 {
		return
	}
	taken, err := r.m.Snapshot()
	saved := checkpoint.Snapshot{Records: taken.Records}
	if err == nil {
		saved.Data, err = machine.AppendSnapshot(nil, &taken)
	}
	if err == nil {
		err = r.o.guard(r.ctx, r.id, "SaveSnapshot", func() error {
			return r.o.snapshots.SaveSnapshot(j.lastingContext(r.ctx), j.key, saved)
		})
		_, err = readError(err)
	}
	if err == nil {
		return
	}
	r.o.log(r.ctx, slog.LevelWarn, "a snapshot could not be saved", slog.String("run", r.id))
	failed := machine.SnapshotFailed{}
	if !r.o.heldBack() {
		failed.Error = err.Error()
	}
	r.consumer.deliver(&machine.Event{
		Run: r.id, Frame: "0", Depth: 1, Seq: r.m.Seq(), Record: r.m.Records(), Time: r.now, Kind: machine.EventSnapshotFailed, Detail: failed,
	})
}

// storeFailure is an error of the store, which may work again later.
type storeFailure struct{ err error }

func (e *storeFailure) Error() string { return e.err.Error() }

func (e *storeFailure) Unwrap() error { return e.err }

// migrate carries a run over a change of code: its journal, which was read to its end, does not fit
// the strategies of this process, and goes on with a Migrated. That is stored together with the
// first record after the Resumed. An error says why this cannot be, and is joined with the one that
// makes it necessary.
func (r *run) migrate(unfit *journals.Unfit, factory func() strategy.Strategy) error {
	cause := unfit.Cause(r.id)
	if r.o.cfg.Migrate == nil {
		return cause
	}
	refuse := func(err error) error {
		return errors.Join(cause, fmt.Errorf("orchestrator: run %.64q cannot be carried over the change: %w", r.id, err))
	}
	rec := machine.Migrated{At: time.Now()}
	if h := &r.journal.header; h.Status != checkpoint.StatusParked { // by a program that did not go on with it
		rec.From = h.Version
	}
	if err := r.loadSnapshot(&rec.Snapshot); err != nil {
		if _, ok := errors.AsType[*storeFailure](err); ok {
			return err
		}
		return refuse(err)
	}
	if err := r.callMigrate(&rec.Snapshot); err != nil {
		return refuse(err)
	}
	if s := &rec.Snapshot.Started; r.m.Run() == "" || s.TaskStrategy && s.Strategy != r.m.Started().Strategy {
		if err := r.useFactory(s, factory); err != nil {
			return refuse(err)
		}
	}
	if err := r.applyAsIs(rec); err != nil {
		return refuse(err)
	}
	r.journal.idle = len(r.journal.pending)
	r.migrated = slices.Clone(r.m.Ready().Events)
	r.m.Advance()
	return nil
}

// loadSnapshot reads the snapshot of the run.
func (r *run) loadSnapshot(s *machine.Snapshot) error {
	j := r.journal
	var saved checkpoint.Snapshot
	err := r.o.guard(r.ctx, r.id, "Snapshot", func() (err error) {
		saved, err = r.o.snapshots.Snapshot(r.ctx, j.key)
		return err
	})
	_, err = readError(err)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return errors.New("there is no snapshot of it: with Config.Snapshots the program before would have saved one when the run came to wait")
	case err != nil:
		return &storeFailure{err}
	case saved.Records != j.last:
		return fmt.Errorf("its snapshot stands for %d records, and it has %d: it was not waiting when its last process ended", saved.Records, j.last)
	}
	if *s, err = machine.ReadSnapshot(saved.Data); err != nil {
		return err
	}
	return r.isOwn(s)
}

// isOwn returns an error if a snapshot is not that of the run.
func (r *run) isOwn(s *machine.Snapshot) error {
	if j := r.journal; s.Started.Run != r.id || s.Started.Namespace != j.key.Namespace || s.Records != j.last {
		return errors.New("its snapshot is of another run, or of other records")
	}
	return nil
}

// callMigrate calls Config.Migrate, which is foreign code.
func (r *run) callMigrate(s *machine.Snapshot) error {
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				p := &machine.PanicError{Value: v, Stack: debug.Stack()}
				r.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Where: "Config.Migrate", Value: v, Stack: p.Stack})
				err = p
			}
		}()
		return r.o.cfg.Migrate(s)
	}()
	if _, err = readError(err); err != nil {
		return fmt.Errorf("Config.Migrate: %w", err)
	}
	return r.isOwn(s)
}
