package orchestrator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
	"github.com/segue-go/segue/strategy"
)

// Standing is how a run stands that another engine drives, see [Orchestrator.Begin].
type Standing struct {
	Key     checkpoint.Key
	Records int            // how many are stored
	Epoch   int64          // for Step and Continue; each Unclear raises it
	Status  machine.Status // "" while there is something to perform; StatusWaiting if only people and times are waited for; else how the run has ended

	// Effects are to be performed, each by one Step, in any order and at the same time: those that
	// were released and have no answer. Questions to people are Waits instead.
	Effects   []machine.Effect
	Withdrawn []machine.EffectID // of the Effects: end the context of their Step
	Waits     []machine.Wait     // open ones, also while effects are in progress; timers among them
	Due       time.Time          // when a Continuation with Expire has something to end; zero: never

	Result Result // of a run that waits or has ended; else only Run is set
}

// Continuation says what a run is told from outside; see [Orchestrator.Continue].
type Continuation struct {
	// After is the Records of the Standing that this is about. Replies to waits that were answered
	// since, notes of the same text and a stop are not given again, so that a Continue whose outcome
	// is unknown may be repeated as it is. 0: nothing is left out.
	After int

	Replies []machine.Reply
	Notes   []string // as by [Orchestrator.Note]
	Expire  bool     // end the waits that have expired, and agents whose time is over

	Stop   bool   // stop the run, after the effects in progress
	Now    bool   // with Stop: at once; end the contexts of the Steps then
	Reason string // of the Stop, as in [Orchestrator.Stop]

	// Unclear says that nobody knows what became of the effects that were in progress at Epoch, and
	// that no Step is in progress, as far as can be known: a Step that is, in a process that was
	// frozen, begins no effect any more that is not safe to repeat. It is what
	// [Orchestrator.Resume] does after a crash: calls that may have had their effect are looked up,
	// or become waits of the kind [machine.WaitUnknown], as Unknown says; all others are in Effects
	// again. If the Epoch of the run is another one, it has been done already.
	Unclear bool
	Epoch   int64
	Unknown machine.Unknown

	Limits delegation.Limits // as in [Resumption]; for a run that waits, or with Unclear
}

// ErrNotBegun is wrapped by the error of a Step that did not begin its effect: the same Step may be
// made again.
var ErrNotBegun = errors.New("orchestrator: the effect was not begun")

// Begin begins a run that another engine drives, such as a workflow service: one that says itself
// when, and in which process, each effect is performed. The records lie in Config.Store, and are
// those that the loop of [Orchestrator.Run] writes. Begin, Step and Continue may be called in any
// number of processes with the same Config:
//
//	s, err := o.Begin(ctx, task)
//	for each of s.Effects that was not begun yet: s, err = o.Step(ctx, s.Key, effect.ID, s.Epoch, nil)
//	for what comes from outside, and at s.Due: s, err = o.Continue(ctx, s.Key, continuation)
//	until s.Status is not "" and not StatusWaiting
//
// Begin again, with the same Run and task, gives the Standing; another task is a [*RunExistsError],
// and so is a run that a loop has begun. Stop and Notes of the Task are not used, and neither are
// Reply, Observe and Timeouts.Run of the Config. For a task with a Factory, Config.Factory must
// know it in other processes.
//
// Nothing is held between the calls. So that no [Orchestrator.Recover] takes the run, and Resume
// only with TakeOver, its head has a lease that does not run out before the run ends, under a writer
// whose name begins with "engine-"; Prune and Forget leave it alone until then. For these methods
// the run is that of an engine as long as it has such a lease.
func (o *Orchestrator) Begin(ctx context.Context, task Task) (Standing, error) {
	if o.cfg.Store == nil {
		return Standing{}, &ConfigError{Field: "Store", Err: errors.New("is nil: another engine needs the journals of its runs")}
	}
	if task.Run != "" {
		if s, err := o.begun(ctx, &task); !errors.Is(err, checkpoint.ErrNotFound) {
			return s, err
		}
	}
	r, err := o.begin(ctx, &task, false, true)
	if exists, ok := errors.AsType[*RunExistsError](err); ok && exists.Run == task.Run { // it was begun just now
		return o.begun(ctx, &task)
	}
	if err != nil {
		return Standing{}, err
	}
	defer r.close()
	return r.standing(), nil
}

// begun returns how a run of a task stands that was begun before.
func (o *Orchestrator) begun(ctx context.Context, task *Task) (Standing, error) {
	return o.drive(ctx, checkpoint.Key{Namespace: task.Namespace, Run: task.Run}, true, func(r *run) error {
		if !r.isOf(task) {
			return &RunExistsError{Run: r.id, Err: checkpoint.ErrConflict}
		}
		return nil
	})
}

// isOf reports whether the run is one of a task, as far as the task says what is done. The strategy
// and the messages of a turn depend on the turn before it.
func (r *run) isOf(task *Task) bool {
	s, err := r.o.started(task)
	if err == nil && r.o.cfg.Redact != nil {
		var rec machine.Record
		if rec, err = r.o.redact(r.ctx, r.id, s); err == nil {
			s = rec.(machine.Started)
		}
	}
	form := func(s machine.Started) string {
		told := machine.Started{Strategy: s.Strategy, Input: s.Input, Model: s.Model, Temperature: s.Temperature, Metadata: s.Metadata, Labels: s.Labels}
		if task.Session != "" {
			told.Strategy, told.Input.Messages, told.Labels = "", nil, nil
		}
		text, problem := machine.AppendRecord(nil, told)
		err = errors.Join(err, problem)
		return string(text)
	}
	return form(s) == form(r.m.Started()) && err == nil
}

// Standing reads how a run stands. It changes nothing. Its errors are those of
// [Orchestrator.Resume].
func (o *Orchestrator) Standing(ctx context.Context, key checkpoint.Key) (Standing, error) {
	return o.drive(ctx, key, false, func(*run) error { return nil })
}

// Step performs an effect of a run, stores its answer and all that follows from it, and returns how
// the run stands then. The epoch is that of the Standing whose Effects had the effect. If the effect
// has an answer already, or waits, nothing is performed. Of a run that stops, an effect is answered
// as not begun. Messages in the inbox of the run are applied before the answer.
//
// Events that no record tells, such as deltas, are given to observe, one after the other, while the
// effect is in progress; nil: to nobody. All others come by [Orchestrator.Follow].
//
// If ctx ends, the effect is cut off. That is an error, without an answer, unless the effect was
// withdrawn before. After an error that does not wrap [ErrNotBegun] the effect may have been
// performed, and its answer is lost. The Step may be made again if the effect is safe to repeat, see
// [machine.Effect.Safe]; else a Continuation with Unclear says so. One that is not safe must not be
// given to two Steps in one epoch.
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
		r.collectPosted()
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
	for _, e := range r.m.Open() {
		if e.ID == id && e.Kind != machine.EffectPerson && (e.Safe() || epoch == r.journal.epoch) {
			return &e
		}
	}
	return nil
}

// beginStep begins an effect, and returns the run that performs it; nil if none is to be performed.
// Right before an effect that must not be repeated it asks the store whether the epoch is still that
// of the run.
func (r *run) beginStep(ctx context.Context, id machine.EffectID, epoch int64, observe func(machine.Event)) (*run, error) {
	e := r.released(id, epoch)
	switch {
	case e == nil:
		return nil, nil //nolint:nilnil // see above
	case r.ending != goesOn:
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
	p.consumer = consumer{gone: observe == nil, cancel: p.cancel, yield: func(e machine.Event, _ error) bool {
		observe(e)
		return true
	}}
	p.launch(e, false)
	return p, nil
}

// Continue tells a run what has come from outside, stores what follows from it, and returns how the
// run stands then. It applies the messages in the inbox of the run first. An error that wraps a
// [*machine.ReplyError] says that a reply or a note was refused; then nothing of the Continuation
// was applied. The other errors are those of [Orchestrator.Step].
func (o *Orchestrator) Continue(ctx context.Context, key checkpoint.Key, how Continuation) (Standing, error) {
	return o.drive(ctx, key, true, func(r *run) error {
		told := how
		if err := r.leaveOut(&told); err != nil {
			return err
		}
		return r.told(&told)
	})
}

// leaveOut removes from a Continuation what the journal holds of it since its After.
func (r *run) leaveOut(how *Continuation) error {
	j := r.journal
	how.Replies, how.Notes = slices.Clone(how.Replies), slices.Clone(how.Notes)
	if how.After <= 0 || how.After >= j.last || len(how.Replies)+len(how.Notes) == 0 && !how.Stop {
		return nil
	}
	rd := &journals.Reading{Key: j.key, Store: j.store, Last: how.After, Damaged: damaged(j.key)}
	for stored, err := range rd.Records(r.ctx) {
		if err != nil {
			return err
		}
		rec, err := rd.Decode(stored)
		if err != nil {
			return err
		}
		switch rec := rec.(type) {
		case machine.Replied:
			how.Replies = slices.DeleteFunc(how.Replies, func(given machine.Reply) bool {
				return given.WaitID == rec.Reply.WaitID && !rec.Expired && rec.Err == nil
			})
		case machine.Noted:
			if i := slices.Index(how.Notes, rec.Text); i >= 0 {
				how.Notes = slices.Delete(how.Notes, i, i+1)
			}
		case machine.Stopped:
			how.Stop = how.Stop && (rec.Frame != "" || how.Now && !rec.Now)
		}
	}
	return nil
}

// told applies a Continuation. A run that waits, or whose effects are unclear, is resumed by it.
func (r *run) told(how *Continuation) error {
	unclear, waiting := how.Unclear && how.Epoch == r.journal.epoch, r.m.Status() == machine.StatusWaiting
	r.now = time.Now()
	switch {
	case r.m.Done():
	case !unclear && waiting && !r.isTold(how):
		return nil
	case unclear || waiting:
		if unclear {
			r.journal.epoch++
		}
		if err := r.applyResumption(&Resumption{Replies: how.Replies, Limits: how.Limits, Unknown: how.Unknown, expires: how.Expire}); err != nil {
			return err
		}
		if how.Replies = nil; unclear {
			r.journal.idle = 0
		}
	case how.Expire:
		if err := r.expire(true); err != nil {
			return err
		}
	}
	r.collectPosted()
	r.hear()
	if how.Expire {
		r.stopLateAgents()
	}
	if r.m.Done() && len(how.Replies)+len(how.Notes) > 0 {
		return errors.Join(&machine.ReplyError{Run: r.id, Problem: "the run has ended"}, r.settle())
	}
	for _, reply := range how.Replies {
		if err := r.applyReply(reply, r.now); err != nil {
			return err
		}
	}
	for _, text := range how.Notes {
		if err := r.note(text, false); err != nil {
			return err
		}
	}
	if err := r.settle(); err != nil {
		return err
	}
	if b := &r.journal.inbox; how.Stop {
		b.stop = &errPostedStop{how.Reason}
		b.stops.Store(true)
		if how.Now {
			r.cancel(b.stop)
		}
	}
	if !r.m.Done() && r.stopped() {
		r.applyStop()
	}
	return r.settle()
}

// isTold reports whether a run that waits is told anything.
func (r *run) isTold(how *Continuation) bool {
	if len(how.Replies)+len(how.Notes) > 0 || how.Stop || how.Expire && !r.dueAt().IsZero() && !r.dueAt().After(r.now) {
		return true
	}
	return r.o.keeper.inbox != nil && len(r.o.keeper.posted(r.o, []checkpoint.Key{r.journal.key})) > 0
}

const (
	engineWriter  = "engine-"                  // begins the names of the writers of runs that engines drive
	leaseOfEngine = 100 * 365 * 24 * time.Hour // longer than any run takes
	mostDriven    = 1000                       // runs of which a process keeps the Machine
)

// hold has a batch give the lease to the engine, until the run has ended. Then it ends the lease,
// whichever process has it.
func hold(b *checkpoint.Batch, ended bool) {
	if b.Lease = leaseOfEngine; ended {
		b.Lease, b.Epoch = -1, b.Epoch+1
	}
}

// isDriven reports whether another engine drives a run.
func isDriven(h *checkpoint.Head) bool { return strings.HasPrefix(h.Lease.Writer, engineWriter) }

// engine holds the runs that other engines drive, as far as this process knows them.
type engine struct {
	mu   sync.Mutex
	runs map[checkpoint.Key]*driven
	uses int
}

// driven is a run that another engine drives.
type driven struct {
	mu      sync.Mutex // of the run; effects are performed without it
	run     *run       // as it was stored last, or earlier; nil: its journal was not read
	created time.Time  // a run that was deleted and begun anew is another one
	used    int        // when it was used last, for the engine
}

// of returns a run. Those that were used least are forgotten.
func (g *engine) of(key checkpoint.Key) *driven {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.runs[key]
	if d == nil {
		if g.runs == nil {
			g.runs = map[checkpoint.Key]*driven{}
		}
		if d = new(driven); len(g.runs) >= mostDriven {
			var least checkpoint.Key
			for key, other := range g.runs {
				if g.runs[least] == nil || other.used < g.runs[least].used {
					least = key
				}
			}
			delete(g.runs, least)
		}
		g.runs[key] = d
	}
	g.uses++
	d.used = g.uses
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
	head, err := o.headForEngine(ctx, key)
	if err == nil && owns && o.isAnothers(&head) {
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

func (o *Orchestrator) headForEngine(ctx context.Context, key checkpoint.Key) (head checkpoint.Head, err error) {
	err = o.guard(ctx, key.Run, "Head", func() (err error) {
		head, err = o.cfg.Store.Head(ctx, key)
		return err
	})
	if err != nil {
		return head, storeError(key, err)
	}
	return head, nil
}

// isAnothers reports whether a run that goes on is not one that engines drive. A store without
// leases does not tell.
func (o *Orchestrator) isAnothers(h *checkpoint.Head) bool {
	_, leases := checkpoint.As[checkpoint.Leaser](o.cfg.Store)
	return leases && !isDriven(h) && !h.Header.Status.Ended()
}

// lend gives the run the context of a call, until the function that it returns is called. The end of
// the context does not stop the run.
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
			if *head, err = r.o.headForEngine(r.ctx, j.key); err != nil {
				return err
			}
		}
	}
	if owns && head.Header.Status != checkpoint.StatusParked {
		_ = r.parkFor(err)
	}
	return err
}

// settle stores what was applied, and tells it.
func (r *run) settle() error {
	if err := r.commit(); err != nil {
		return err
	}
	if err := r.unkept(); err != nil {
		return errors.Join(err, r.park(err.Error()))
	}
	r.applied = false
	events := r.m.Ready().Events
	r.m.Advance()
	r.follow(events)
	r.deliver(events)
	if len(events) > 0 && r.m.Status() == machine.StatusWaiting {
		r.saveSnapshot()
	}
	return nil
}

// standing returns how the run stands.
func (r *run) standing() Standing {
	j := r.journal
	s := Standing{
		Key: j.key, Records: j.last, Epoch: j.epoch, Status: r.m.Status(), Withdrawn: r.m.Withdrawn(), Waits: r.m.Waits(), Due: r.dueAt(), Result: Result{Run: r.id},
	}
	for _, e := range r.m.Open() {
		if e.Kind != machine.EffectPerson {
			s.Effects = append(s.Effects, e)
		}
	}
	if s.Status != "" {
		end := r.m.Finished(s.Status, r.m.Output())
		s.Result = result(&end, r.id)
	}
	return s
}

// dueAt returns when the first wait expires, or the time of the first agent is over; zero: never.
func (r *run) dueAt() (due time.Time) {
	earlier := func(at time.Time) {
		if !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	for _, w := range r.m.Waits() {
		earlier(w.Expires)
	}
	for _, a := range r.agents {
		earlier(a.at)
	}
	return due
}
