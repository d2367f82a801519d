package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// JournalError says what is wrong with the journal of a run, or that it could not be written. What
// could not be written did not happen: the run can be resumed from what stands there.
type JournalError struct {
	Run    string
	Record int // its place in the journal; 0 if it is not about one
	Err    error
}

// Error names the run and the record.
func (e *JournalError) Error() string {
	if e.Record == 0 {
		return fmt.Sprintf("orchestrator: the journal of run %.64q: %v", e.Run, e.Err)
	}
	return fmt.Sprintf("orchestrator: the journal of run %.64q, record %d: %v", e.Run, e.Record, e.Err)
}

// Unwrap returns the cause, such as checkpoint.ErrConflict.
func (e *JournalError) Unwrap() error { return e.Err }

// journal is what a run keeps of itself: its records, in the order in which they were applied.
type journal struct {
	store   checkpoint.Store
	key     checkpoint.Key
	run     string
	writer  string // this opening of the run
	epoch   int64
	last    int // the place of the last record that is stored
	pending []checkpoint.Record
	idle    int    // the first so many of pending are stored only together with others: that somebody looked at the run, and carried it over a change of code for that
	text    []byte // the forms of what is pending
	next    []byte // the same with what was encoded last

	header   checkpoint.Header // as it is stored
	stale    bool              // another version of the program has stored it
	taken    []string          // messages that pending, or what was stored before it, has dealt with
	progress bool              // an effect has an answer since the last append
	patience time.Duration     // how long an append that fails is tried again

	lasting context.Context // see lastingContext
	done    context.CancelFunc

	lease lease
	inbox inbox
}

// encode returns the stored form of a record; nil where nothing is kept. An answer that has none
// becomes a failure of its effect.
func (j *journal) encode(rec machine.Record) (data []byte, err error) {
	if j == nil {
		return nil, nil
	}
	text, err := machine.AppendRecord(j.text, rec)
	if err != nil {
		return nil, &JournalError{Run: j.run, Err: err}
	}
	data = text[len(j.text):]
	j.next = text
	return data, nil
}

// add keeps a record that was applied for the next append. Data is what encode returned last.
func (j *journal) add(rec machine.Record, data []byte) {
	if j == nil {
		return
	}
	j.pending = append(j.pending, checkpoint.Record{Seq: j.last + len(j.pending) + 1, Type: machine.TypeOf(rec), Data: data})
	j.text = j.next
	_, answered := rec.(machine.Answered)
	j.progress = j.progress || answered
}

// patienceOfStore bounds how long a store may take for a record once the context of the run has
// ended.
const patienceOfStore = 10 * time.Second

// store keeps all records that are not kept yet, in one append. What is wrong with the store is
// told.
func (r *run) store() error {
	j := r.journal
	if j == nil || len(j.taken) == 0 && (len(j.pending) == 0 || len(j.pending) <= j.idle) {
		return nil
	}
	b := j.batch()
	b.Header = r.changedHeader()
	b.Lease = r.journal.lease.next(r.isLast())
	err := j.append(r.ctx, &b)
	r.journal.lease.appended(b.Lease, err)
	if err == nil {
		r.o.followers.stored(b.Key)
		return nil
	}
	if p, ok := errors.AsType[*machine.PanicError](err); ok {
		r.o.panicked(r.ctx, &machine.PanicReport{Run: r.id, Seq: r.m.Seq(), Where: "the store in Append", Value: p.Value, Stack: p.Stack})
	}
	r.logStoreFault(r.ctx, "a record could not be stored", err)
	return err
}

// batch returns what the next append adds.
func (j *journal) batch() checkpoint.Batch {
	return checkpoint.Batch{
		Key: j.key, Records: j.pending, Writer: j.writer, Epoch: j.epoch, Taken: j.taken, Progress: j.progress,
	}
}

// append writes a batch of all that is pending, and tries again while the store fails. The end of
// ctx does not keep the batch from being written, nor cut off what the store has begun.
func (j *journal) append(ctx context.Context, b *checkpoint.Batch) error {
	lasting := j.lastingContext(ctx)
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := j.tryAppend(lasting, b)
		if err == nil {
			break
		}
		if isFinal(err) || time.Since(began)+pause > j.patience || !sleep(lasting, pause) {
			return &JournalError{Run: j.run, Record: j.last + 1, Err: err}
		}
	}
	j.last += len(j.pending)
	if b.Header != nil {
		j.header, j.stale = *b.Header, false
	}
	clear(j.pending)
	j.pending, j.idle, j.text, j.taken, j.progress = j.pending[:0], 0, j.text[:0], nil, false
	return nil
}

func (j *journal) tryAppend(ctx context.Context, b *checkpoint.Batch) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &machine.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	if err := j.store.Append(ctx, *b); err != nil {
		_, data := readError(err)
		return data
	}
	return nil
}

// isFinal reports whether an append that failed would fail again.
func isFinal(err error) bool {
	_, panicked := errors.AsType[*machine.PanicError](err)
	return panicked || errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound) || errors.Is(err, checkpoint.ErrCorrupt) ||
		errors.Is(err, checkpoint.ErrTooLarge) || errors.Is(err, checkpoint.ErrID) || errors.Is(err, checkpoint.ErrClosed)
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lastingContext returns a context for what is finished although ctx ends: its own end comes a
// while after that of ctx, or after now, if ctx is done already. As long as ctx goes on it is the
// same.
func (j *journal) lastingContext(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	if j.lasting == nil || ctx.Err() != nil {
		j.close()
		j.lasting, j.done = patient(ctx, patienceOfStore)
	}
	return j.lasting
}

// close lets go of the context.
func (j *journal) close() {
	if j != nil && j.done != nil {
		j.done()
	}
}

// patient returns a context whose end comes so long after that of ctx.
func patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(patience, func() { cancel(context.DeadlineExceeded) })
		context.AfterFunc(lasting, func() { timer.Stop() })
	})
	return lasting, func() {
		stop()
		cancel(nil)
	}
}

// claim takes a run for this Orchestrator: nobody else in it may work on the same.
func (r *run) claim() error {
	j := r.journal
	if j == nil {
		return nil
	}
	if r.box.open(); !r.o.keeper.add(r.o, r) {
		return &RunExistsError{Run: r.id, InProgress: true, Err: checkpoint.ErrConflict}
	}
	r.claimed = true
	writer, err := uuid.NewV7()
	if err != nil {
		return &JournalError{Run: r.id, Err: err}
	}
	j.writer = writer.String()
	return nil
}

// changedHeader returns how the run stands, for readers of the store; nil if that is as it was
// stored last.
func (r *run) changedHeader() *checkpoint.Header {
	was := &r.journal.header
	status := checkpoint.Status(cmp.Or(string(r.m.Status()), string(checkpoint.StatusRunning)))
	waits := r.m.Waits()
	if !r.journal.stale && status == was.Status && sameWaits(was.Waits, waits) {
		return nil
	}
	now := *was
	if r.journal.stale || was.Status == "" || was.Status == checkpoint.StatusParked {
		now = r.o.header(r.m.Started())
	}
	now.Status = status
	setWaits(&now, waits)
	return &now
}

// setWaits says in a header what the run waits for, and until when.
func setWaits(h *checkpoint.Header, waits []machine.Wait) {
	h.Waits, h.Due = nil, time.Time{}
	for i := range waits {
		w := &waits[i]
		h.Waits = append(h.Waits, checkpoint.Wait{ID: w.ID, Kind: w.Kind, Expires: w.Expires})
		if !w.Expires.IsZero() && (h.Due.IsZero() || w.Expires.Before(h.Due)) {
			h.Due = w.Expires
		}
	}
}

func sameWaits(stored []checkpoint.Wait, now []machine.Wait) bool {
	return slices.EqualFunc(stored, now, func(a checkpoint.Wait, b machine.Wait) bool { return a.ID == b.ID })
}

// header returns the part of a run's header that does not change while a program works on it.
func (o *Orchestrator) header(s machine.Started) checkpoint.Header {
	h := checkpoint.Header{
		Strategy: s.Strategy, Format: machine.RecordVersion, Version: o.cfg.Version, Labels: s.Labels,
	}
	if s.Origin != nil {
		h.Origin = checkpoint.Origin{Run: s.Origin.Run, Record: s.Origin.Record}
	}
	return h
}

// isLast reports whether the run does not go on in this process after what is pending.
func (r *run) isLast() bool {
	return r.m.Done() || r.m.Status() == machine.StatusWaiting && r.o.cfg.Reply == nil && len(r.executions) == 0
}
