package orchestrator

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
	"github.com/segue-go/segue/strategy"
)

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
