package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

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
	store   checkpoint.Store // nil: nothing is kept
	run     string
	last    int // the place of the last record that is stored
	pending []checkpoint.Record
	lazy    bool   // of pending, one is stored only together with others: that somebody looked at the run
	text    []byte // the forms of what is pending
	next    []byte // the same with what was encoded last

	lasting context.Context // see lastingContext
	done    context.CancelFunc
}

// encode returns the stored form of a record; nil where nothing is kept. An answer that has none
// becomes a failure of its effect.
func (j *journal) encode(rec machine.Record) (data []byte, err error) {
	if j.store == nil {
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

// add keeps a record that was applied for the next append. It is what encode returned last.
func (j *journal) add(data []byte) {
	if j.store != nil {
		j.pending = append(j.pending, checkpoint.Record{Seq: j.last + len(j.pending) + 1, Data: data})
		j.text = j.next
	}
}

// patienceOfStore bounds how long a store may take for a record once the context of the run has
// ended.
const patienceOfStore = 10 * time.Second

// store keeps all records that are not kept yet, in one append. What is wrong with the store is
// told.
func (r *run) store() error {
	j := &r.journal
	if len(j.pending) == 0 || j.lazy && len(j.pending) == 1 {
		return nil
	}
	err := j.append(r.ctx)
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*PanicError](err); ok {
		r.o.panicked(r.ctx, &PanicReport{Run: r.id, Seq: r.m.Seq(), Where: "the store in Append", Value: p.Value, Stack: p.Stack})
	}
	r.logStoreFault(r.ctx, "a record could not be stored", err)
	return err
}

// storeStarted keeps the record that began the run, as the Machine made it.
func (r *run) storeStarted() error {
	if r.journal.store == nil {
		return nil
	}
	data, err := r.journal.encode(r.m.Started())
	if err != nil {
		return err
	}
	r.journal.add(data)
	return r.store()
}

// append writes what is pending. The end of ctx does not keep it from being written, nor cut off
// what the store has begun.
func (j *journal) append(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			err = &JournalError{Run: j.run, Record: j.last + 1, Err: err}
		}
	}()
	if err := j.store.Append(j.lastingContext(ctx), j.run, j.pending...); err != nil {
		_, data := readError(err)
		return data
	}
	j.last += len(j.pending)
	clear(j.pending)
	j.pending, j.lazy, j.text = j.pending[:0], false, j.text[:0]
	return nil
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
	if j.done != nil {
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
	if r.o.cfg.Store == nil {
		return nil
	}
	if _, taken := r.o.active.LoadOrStore(r.id, true); taken {
		return &RunExistsError{Run: r.id, InProgress: true, Err: checkpoint.ErrConflict}
	}
	r.claimed = true
	return nil
}
