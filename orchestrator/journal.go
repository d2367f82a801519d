package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
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

	driven bool // another engine drives the run

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
	switch {
	case j.driven && r.m.Done(): // ends the lease, whichever process has it
		j.epoch++
		b.Lease, b.Epoch = -1, j.epoch
	case j.driven:
		b.Lease = leaseOfEngine
	}
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
	writer, err := uuid.NewV7()
	if err != nil {
		return &JournalError{Run: r.id, Err: err}
	}
	if j.writer = writer.String(); j.driven {
		j.writer = engineWriter + j.writer
		return nil
	}
	if r.box.open(); !r.o.keeper.add(r.o, r) {
		return &RunExistsError{Run: r.id, InProgress: true, Err: checkpoint.ErrConflict}
	}
	r.claimed = true
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

// keeper renews the leases of the runs in progress, and brings them the messages that were posted
// to them. It uses a timer, and no goroutine of its own.
type keeper struct {
	every time.Duration // 0: the store has neither ability
	inbox checkpoint.Inbox

	mu    sync.Mutex
	runs  map[checkpoint.Key]*run
	armed bool
}

// add adds a run, and reports whether there was no run with the same key.
func (k *keeper) add(o *Orchestrator, r *run) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs[r.journal.key] != nil {
		return false
	}
	if k.runs == nil {
		k.runs = map[checkpoint.Key]*run{}
	}
	k.runs[r.journal.key] = r
	if k.every > 0 && !k.armed {
		k.armed = true
		time.AfterFunc(k.every, func() { k.look(o) })
	}
	return true
}

// remove removes a run that is no longer in progress.
func (k *keeper) remove(r *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.runs, r.journal.key)
}

// get returns the run in progress with that key; nil if there is none.
func (k *keeper) get(key checkpoint.Key) *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[key]
}

// look serves every run once, and sets the timer again if there are any.
func (k *keeper) look(o *Orchestrator) {
	k.mu.Lock()
	runs := make([]*run, 0, len(k.runs))
	for _, r := range k.runs {
		runs = append(runs, r)
	}
	k.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { k.collect(o, runs) })
	k.extend(&all, runs)
	all.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.armed = len(k.runs) > 0; k.armed {
		time.AfterFunc(k.every, func() { k.look(o) })
	}
}

// extend renews the leases that are due, several at once: one that takes long does not cost the
// others theirs.
func (k *keeper) extend(all *sync.WaitGroup, runs []*run) {
	const atOnce = 32
	places := make(chan struct{}, atOnce)
	for _, r := range runs {
		if !r.journal.lease.due() {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			r.extend(context.Background())
		})
	}
}

// collect brings runs that take messages those that were posted to them, as far as they can be
// read: it looks again.
func (k *keeper) collect(o *Orchestrator, runs []*run) {
	for some := range slices.Chunk(runs, 500) {
		keys, of := make([]checkpoint.Key, 0, len(some)), make(map[checkpoint.Key]*run, len(some))
		for _, r := range some {
			if r.journal.inbox.ready.Load() {
				keys, of[r.journal.key] = append(keys, r.journal.key), r
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), k.every+time.Second)
		posted, _ := k.posted(ctx, o, keys)
		cancel()
		for _, m := range posted {
			if r := of[m.Key]; r != nil {
				r.accept(&m)
			}
		}
	}
}

// posted returns the messages to runs. Those that can never be read are left out: they keep no run
// from the others.
func (k *keeper) posted(ctx context.Context, o *Orchestrator, keys []checkpoint.Key) (posted []checkpoint.Message, err error) {
	if k.inbox == nil || len(keys) == 0 {
		return nil, nil
	}
	err = o.guard(ctx, "", "Posted", func() (err error) {
		posted, err = k.inbox.Posted(ctx, keys...)
		return err
	})
	if err != nil {
		l := line{level: slog.LevelWarn, open: o.cfg.LogContent}
		l.add("run", keys[0].Run, "runs", len(keys))
		l.content("error", err.Error())
		o.log(ctx, l.level, "not all of the inbox could be read", l.attrs...)
	}
	if errors.Is(err, checkpoint.ErrCorrupt) {
		err = nil
	}
	return posted, err
}

// standing returns the header of a run that was made from records.
func (o *Orchestrator) standing(run *journals.Run) *checkpoint.Header {
	h := o.header(run.Machine.Started())
	h.Labels = maps.Clone(h.Labels)
	h.Status = checkpoint.Status(run.Machine.Status())
	switch {
	case h.Status == "":
		h.Status, h.Reason, h.Version = checkpoint.StatusParked, run.Reason, "" // no version of Recover starts it
	case run.Version != nil:
		h.Version = *run.Version
	}
	setWaits(&h, run.Machine.Waits())
	return &h
}

// adoptRun stores the values and the records of a run that is new to the store, and returns its
// head. A value is stored before the records that name it.
func (o *Orchestrator) adoptRun(ctx context.Context, run *journals.Run) (checkpoint.Head, error) {
	writer, err := uuid.NewV7()
	if err != nil {
		return checkpoint.Head{}, &JournalError{Run: run.Key.Run, Err: err}
	}
	j := journal{
		store: o.cfg.Store, key: run.Key, run: run.Key.Run, writer: writer.String(), epoch: 1, pending: run.Records, patience: o.cfg.Timeouts.Store,
	}
	defer j.close()
	h := o.standing(run)
	if len(run.Values) > 0 {
		err = j.adoptValues(ctx, h, run.Values)
	}
	if err == nil {
		b := j.batch()
		b.Header = h
		err = j.append(ctx, &b)
	}
	if e, ok := errors.AsType[*JournalError](err); ok && errors.Is(err, checkpoint.ErrConflict) {
		return checkpoint.Head{}, &RunExistsError{Run: run.Key.Run, Err: e}
	}
	if err != nil {
		return checkpoint.Head{}, err
	}
	return o.headOf(ctx, run.Key)
}
