package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Perform performs one effect as a run does: with the middleware and the time-outs of the Config,
// and with panics contained. It is for an engine of one's own that drives a [machine.Machine], such
// as a workflow service, and for tests. Records, events, waits and approvals are the engine's: a
// call of Perform belongs to no run, and tells no events.
//
// The answer is for [machine.Effect.Answered]. An effect that failed, took too long, or whose ctx
// ended has an answer, too: a [nextstep.Failure], or the failed result of its call. A tool that
// does not return then is abandoned.
//
// An error says that there is no answer. A [*SuspendedError] says that the effect waits for people,
// for Perform asks nobody: record a [machine.Suspended]. The Machine releases the effect again with
// the replies, and Perform passes them on. It is an error to perform a [machine.EffectPerson].
func (o *Orchestrator) Perform(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
	if e.Kind == machine.EffectPerson {
		return nil, fmt.Errorf("orchestrator: an effect of kind %q is not performed: apply the reply of the person", e.Kind)
	}
	r := &run{o: o, id: e.Run, now: time.Now(), m: new(machine.Machine), large: new(large)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.consumer.gone = true
	defer r.close()
	r.launch(&e, false)
	m := r.outcome()
	return r.performed(&e, &m)
}

// outcome waits until the only effect of a run has ended, and returns its mail. Nobody is asked.
func (r *run) outcome() mail {
	for {
		mails := r.box.collect()
		for i := range mails {
			switch m := &mails[i]; {
			case m.ask != nil:
				m.ask.answer <- answered{err: &SuspendedError{Waits: []machine.Wait{m.ask.wait}}}
			case m.event != nil:
				r.receive(m)
			default:
				return *m
			}
		}
		if r.ctx.Err() != nil {
			r.ending = stopsNow
		}
		r.overdue()
		if len(mails) == 0 {
			r.await()
		}
	}
}

// performed returns the answer of an effect that has ended.
func (r *run) performed(e *machine.Effect, m *mail) (nextstep.Answer, error) {
	if m.err == nil {
		return m.answer, nil
	}
	if waits(m.err) {
		if s, ok := errors.AsType[*SuspendedError](m.err); ok && s != nil && len(s.Waits) > 0 {
			return nil, s
		}
		return nil, &SuspendedError{Waits: []machine.Wait{{Kind: machine.WaitStep, Text: m.err.Error()}}}
	}
	return r.failure(e.Kind, m.err), nil
}

// waits reports whether the error of an effect says that it waits for people. What a panic wraps
// does not count.
func waits(err error) bool {
	_, broke := err.(*panicked) //nolint:errorlint // see above
	return !broke && errors.Is(err, tools.ErrSuspended)
}

// Step performs an effect of a run, stores its answer and all that follows from it, and returns how
// the run stands then. The epoch is that of the Standing whose Effects had the effect. If the
// effect has an answer already, or waits, nothing is performed. Of a run that stops, an effect is
// answered as not begun. Messages in the inbox of the run are applied before the answer.
//
// Events that no record tells, such as deltas, are given to observe, one after the other, while the
// effect is in progress; nil: to nobody. All others come by [Orchestrator.Follow].
//
// If ctx ends, the effect is cut off. That is an error, without an answer, unless the effect was
// withdrawn before. After an error that does not wrap [ErrNotBegun] the effect may have been
// performed, and its answer is lost. The Step may be made again if the effect is safe to repeat,
// see [machine.Effect.Safe]; else a Continuation with Unclear says so. One that is not safe must
// not be given to two Steps in one epoch.
//
// The errors of a run that this process cannot go on with are those of [Orchestrator.Resume]; the
// run is then parked as by [Orchestrator.Recover], and goes on by the next Step of a process that
// can.
func (o *Orchestrator) Step(ctx context.Context, key checkpoint.Key, id machine.EffectID, epoch int64, observe func(machine.Event)) (Standing, error) {
	var p *run // performs the effect
	s, err := o.drive(ctx, key, true, func(r *run) (err error) {
		p, err = r.beginStep(ctx, id, epoch, observe)
		return err
	})
	if err != nil {
		return s, &endError{cause: err, err: ErrNotBegun}
	}
	if p == nil {
		return s, nil
	}
	defer p.close()
	x := p.executions[id]
	m := p.outcome()
	if p.streams && m.err == nil {
		p.deliverWhole(x, m.answer)
	}
	cut, elapsed := causeOfContext(ctx), max(0, time.Since(x.began)-x.asked.Sum())
	lasting, done := patient(ctx, patienceOfStore)
	defer done()
	return o.drive(lasting, key, true, func(r *run) error {
		if r.released(id, epoch) == nil {
			return nil
		}
		r.collect(nil)
		r.hear()
		r.now = time.Now()
		switch answer := m.answer; {
		case m.err != nil && waits(m.err):
			r.suspend(x, m.err, elapsed)
		case m.err != nil:
			answer = r.failure(x.effect.Kind, m.err)
			fallthrough
		default:
			if cut != nil && isCut(answer) && !slices.Contains(r.m.Withdrawn(), id) {
				return cut
			}
			r.answer(&x.effect, answer, elapsed)
		}
		return r.settle()
	})
}

// released returns an effect that a Step may perform; nil if it may not.
func (r *run) released(id machine.EffectID, epoch int64) *machine.Effect {
	for _, e := range r.effects() {
		if e.ID == id && (e.Safe() || epoch == r.journal.epoch) {
			return &e
		}
	}
	return nil
}

// beginStep begins an effect, and returns the run that performs it; nil if none is to be performed.
// Right before an effect that must not be repeated it asks the store whether the epoch is still
// that of the run.
func (r *run) beginStep(ctx context.Context, id machine.EffectID, epoch int64, observe func(machine.Event)) (*run, error) {
	e := r.released(id, epoch)
	switch {
	case e == nil:
		return nil, nil //nolint:nilnil // see above
	case r.ending != goesOn || slices.Contains(r.m.Withdrawn(), id):
		_ = r.apply(machine.Answered{At: time.Now(), Effect: id, NotBegun: true}) // the Machine may have closed it
		return nil, r.settle()
	case !e.Safe():
		j := r.journal
		if err := j.append(r.ctx, &checkpoint.Batch{Key: j.key, Writer: j.writer, Epoch: j.epoch, Lease: leaseOfEngine}); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, causeOfEnd(ctx)
	}
	p := &run{o: r.o, id: r.id, now: time.Now(), m: r.m, large: r.large, streams: observe != nil, journal: &journal{key: r.journal.key, run: r.id}}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.consumer = consumer{gone: observe == nil, cancel: p.cancel, yield: func(e machine.Event, _ error) (goesOn bool) {
		defer func() {
			if v := recover(); v != nil { // it is called no more, and the effect is not lost
				p.o.panicked(p.ctx, &machine.PanicReport{Run: p.id, Where: "the observer of a Step", Value: v, Stack: debug.Stack()})
				p.consumer.yield, goesOn = func(machine.Event, error) bool { return true }, true
			}
		}()
		observe(e)
		return true
	}}
	p.launch(e, false)
	return p, nil
}

const (
	engineWriter  = "engine-"                  // begins the names of the writers of runs that engines drive
	leaseOfEngine = 100 * 365 * 24 * time.Hour // longer than any run takes
	mostDriven    = 1000                       // runs of which a process keeps the Machine
)

// isDriven reports whether another engine drives a run.
func isDriven(h *checkpoint.Head) bool { return strings.HasPrefix(h.Lease.Writer, engineWriter) }

// engine holds the runs that other engines drive, as far as this process knows them.
type engine struct {
	mu   sync.Mutex
	runs map[checkpoint.Key]*driven
}

// driven is a run that another engine drives.
type driven struct {
	mu      sync.Mutex // of the run; effects are performed without it
	run     *run       // as it was stored last, or earlier; nil: its journal was not read
	created time.Time  // a run that was deleted and begun anew is another one
}

// of returns a run. Of too many, any is forgotten: its journal is read again.
func (g *engine) of(key checkpoint.Key) *driven {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.runs[key]
	if d != nil {
		return d
	}
	for other := range g.runs {
		if len(g.runs) < mostDriven {
			break
		}
		delete(g.runs, other)
	}
	if g.runs == nil {
		g.runs = map[checkpoint.Key]*driven{}
	}
	d = new(driven)
	g.runs[key] = d
	return d
}

// drive calls do with a run as it stands in the store, again if another process has stored a record
// meanwhile, and returns how the run stands then. Owns says that only a run of an engine will do.
func (o *Orchestrator) drive(ctx context.Context, key checkpoint.Key, owns bool, do func(*run) error) (s Standing, err error) {
	if err := o.checkKey(key); err != nil {
		return s, err
	}
	d := o.engine.of(key)
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return s, causeOfEnd(ctx)
		}
		s, err = d.once(ctx, o, key, owns, do)
		if _, final := errors.AsType[*RunExistsError](err); final || !errors.Is(err, checkpoint.ErrConflict) {
			return s, err
		}
	}
}

func (d *driven) once(ctx context.Context, o *Orchestrator, key checkpoint.Key, owns bool, do func(*run) error) (s Standing, err error) {
	head, err := o.headOf(ctx, key)
	_, leases := checkpoint.As[checkpoint.Leaser](o.cfg.Store) // without them nobody knows
	if err == nil && owns && leases && !isDriven(&head) && !head.Header.Status.Ended() {
		err = &RunExistsError{Run: key.Run, InProgress: true, Err: checkpoint.ErrConflict}
	}
	if err != nil {
		return s, err
	}
	if d.run != nil && (head.Last < d.run.journal.last || !head.Created.Equal(d.created)) {
		d.forget()
	}
	if d.run == nil {
		d.run, d.created = o.newRun(context.WithoutCancel(ctx), key, false, true), head.Created
		err = d.run.claim()
	}
	r := d.run
	defer r.lend(ctx)()
	if err == nil {
		err = r.catchUp(&head, owns)
	}
	if err == nil {
		err = do(r)
	}
	if err == nil {
		s = r.standing()
	}
	if err != nil || r.m.Done() || len(r.journal.pending) > 0 { // what is not stored did not happen
		d.forget()
	}
	return s, err
}

func (d *driven) forget() {
	d.run.close()
	d.run = nil
}

// lend gives the run the context of a call, until the function that it returns is called. The end
// of the context does not stop the run.
func (r *run) lend(ctx context.Context) func() {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	end := context.AfterFunc(ctx, func() { cancel(ErrInterrupted) })
	r.ctx, r.cancel = own, cancel
	r.consumer = consumer{cancel: cancel, yield: func(machine.Event, error) bool { return true }}
	if r.o.cfg.Logger != nil {
		r.consumer.log = r.logEvent
	}
	return func() {
		end()
		cancel(nil)
		r.journal.close()
		r.journal.lasting = nil
	}
}

// catchUp applies what was stored since. A run that this process cannot go on with is parked if it
// owns the run.
func (r *run) catchUp(head *checkpoint.Head, owns bool) (err error) {
	j := r.journal
	for {
		j.header, j.epoch = head.Header, head.Epoch
		j.stale = head.Header.Version != r.o.cfg.Version || head.Header.Format != machine.RecordVersion
		if j.last == head.Last {
			return nil
		}
		var factory func() strategy.Strategy
		if r.o.cfg.Factory != nil && j.last == 0 {
			factory = r.o.cfg.Factory(*head)
		}
		if err = r.read(factory); err != nil {
			break
		}
		if j.last != head.Last { // records came meanwhile
			if *head, err = r.o.headOf(r.ctx, j.key); err != nil {
				return err
			}
		}
	}
	if owns && head.Header.Status != checkpoint.StatusParked {
		_ = r.parkFor(err)
	}
	return err
}
