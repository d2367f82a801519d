package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// run is one run in progress, at the edge.
type run struct {
	o       *Orchestrator
	m       *Machine
	stop    <-chan struct{}
	streams bool
	sink    sink
	call    Call      // the step in progress
	now     time.Time // when the last step ended

	// What is used again step by step, so that a step does not pay for it.
	ctx     context.Context // of the run
	asking  context.Context // the same for the client; see notified
	req     llmclient.Request
	onDelta func(llmclient.Delta)
	delta   Event // what the deltas of a step have in common
	session *tools.Session
	common  tools.Batch

	parallel bool       // several tools run
	at       string     // whose code performs the step, where that is known
	watched  bool       // somebody sees its events, or logs them
	watch    *idleWatch // over the request in progress; nil: none

	journal *journal              // nil: none is kept
	claimed string                // the id under which this run is in progress; "": none
	resumed bool                  // from the journal
	fresh   []Reply               // that it was resumed with
	partial []messages.ToolOutput // of the pending batch, whose other calls wait for somebody
	kept    int                   // partial[:kept] stands in the journal
	people  *people               // nil: nobody was asked yet
	account *account              // nil: it is no agent's
}

// loop makes a run. It is the only loop there is.
func (o *Orchestrator) loop(ctx context.Context, task Task, streams bool, yield func(Event, error) bool) {
	r, err := o.begin(ctx, &task, o.tools.Definitions(), origin{}, streams)
	if err != nil {
		yield(Event{}, err)
		return
	}
	r.goOn(ctx, task.Stop, streams, yield)
}

// origin is the run that another is made for.
type origin struct {
	run       string // "": none
	untrusted bool   // it has read text from outside
}

// begin makes a run of a task, and its journal.
func (o *Orchestrator) begin(ctx context.Context, task *Task, allowed []tools.Definition, parent origin, streams bool) (*run, error) {
	if task.Run != "" {
		if err := checkpoint.CheckRun(task.Run); err != nil {
			return nil, &ConfigError{Field: "Run", Err: err}
		}
	}
	m, err := o.machine(task, allowed, streams || o.logsSteps(ctx), o.strategyPanicked(ctx))
	if err != nil {
		return nil, err
	}
	m.untrusted = m.untrusted || parent.untrusted
	r := &run{o: o, m: m, ctx: ctx, now: time.Now()}
	if err := r.open(ctx, task, parent); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// open begins the journal of a run.
func (r *run) open(ctx context.Context, task *Task, parent origin) error {
	if r.o.store == nil {
		return nil
	}
	if err := r.claim(r.m.Run()); err != nil {
		return err
	}
	r.journal = &journal{store: r.o.store, run: r.m.Run()}
	err := r.append(ctx, &entry{Type: entryStart, At: r.now, Start: &start{
		Strategy: r.m.root.strategy,
		Input:    task.Input,
		Limits:   r.m.root.limits,
		Parent:   parent.run,

		Untrusted: parent.untrusted,
	}})
	if errors.Is(err, checkpoint.ErrConflict) {
		return &RunExistsError{Run: r.m.Run(), Err: err}
	}
	return err
}

// goOn runs a run to its end.
func (r *run) goOn(ctx context.Context, stop <-chan struct{}, streams bool, yield func(Event, error) bool) {
	defer r.close()
	o, m := r.o, r.m
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := o.timeouts.Run; d > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, d, fmt.Errorf("the run took longer than %v", d))
		defer end()
	}
	r.ctx, r.stop, r.streams, r.watched = ctx, stop, streams, streams || o.logsSteps(ctx)
	m.silent = !r.watched
	r.sink.yield, r.sink.cancel = yield, cancel
	if o.logger != nil {
		r.sink.note = r.logEvent
	}
	r.tellResumed()
	for r.tell(m.Events()) && !m.Done() {
		r.account.charge(r)
		answer, waits := r.answer(ctx)
		if waits != nil {
			r.suspend(ctx, waits)
			return
		}
		if stop, ok := answer.(nextstep.Stop); ok && errors.Is(stop.Err, errBreak) {
			r.breakOff(ctx, stop.Results)
			break
		}
		answer = r.settle(answer)
		if err := m.check(answer); err != nil { // a middleware made an answer that is none
			answer = failure(m.Pending(), err) // which the Machine takes for every step that it leaves to us
		}
		answer, err := r.store(ctx, answer)
		if err != nil {
			r.broken(err, answer)
			return
		}
		m.advance(answer)
	}
	if o.logger != nil && !m.Done() {
		o.log(ctx, slog.LevelInfo, "run broke off", slog.String("run", m.Run()), slog.Int("seq", m.Seq()))
	}
}

// store keeps an answer before the run goes on with it. One that has no JSON form is a failure of
// its step.
func (r *run) store(ctx context.Context, answer nextstep.Answer) (nextstep.Answer, error) {
	if r.journal != nil {
		text, err := nextstep.MarshalAnswer(unraw(answer))
		if err != nil {
			answer = failure(r.m.Pending(), fmt.Errorf("orchestrator: the answer cannot be stored: %w", err))
			if text, err = nextstep.MarshalAnswer(answer); err != nil {
				return answer, &JournalError{Run: r.m.Run(), Err: err}
			}
		}
		if err := r.answered(ctx, text); err != nil {
			return answer, err
		}
	}
	r.settled()
	return answer, nil
}

// settle puts into an answer what only the loop knows: what runs have used that tools made, and
// which calls a middleware has changed.
func (r *run) settle(answer nextstep.Answer) nextstep.Answer {
	spent, calls, some := r.people.settled()
	if !some {
		return answer
	}
	switch a := answer.(type) {
	case nextstep.ToolResults:
		a.Spent, a.Calls = a.Spent.Add(spent), calls
		return a
	case nextstep.Stop:
		a.Spent = a.Spent.Add(spent)
		return a
	default:
		return answer
	}
}

// settled forgets what was asked in a step that has its answer.
func (r *run) settled() {
	r.partial, r.kept = nil, 0
	if r.people != nil {
		r.people.reset(r.m.Seq())
	}
}

// broken ends a run whose journal cannot be written. What could not be stored is told all the same,
// where it can be.
func (r *run) broken(err error, answer nextstep.Answer) {
	out := r.m.soFar(answer)
	out.Err = delegation.NewError(delegation.CodeStorage, err)
	e := r.m.rootEvent(EventRunFinished, RunFinished{Status: StatusFailed, Output: out})
	e.Time = r.now
	r.sink.last(&e, out.Err)
}

// claim takes a run for this Orchestrator: nobody else in it may work on the same.
func (r *run) claim(id string) error {
	if _, taken := r.o.active.LoadOrStore(id, true); taken {
		return &RunExistsError{Run: id, InProgress: true, Err: checkpoint.ErrConflict}
	}
	r.claimed = id
	return nil
}

// close lets go of what the run kept between steps.
func (r *run) close() {
	if r.claimed != "" {
		r.o.active.Delete(r.claimed)
	}
	if r.session != nil {
		r.session.Close()
	}
	if r.m == nil { // its journal could not be read
		return
	}
	r.settled() // what a tool that was abandoned asks now, it asks nobody
	r.m.reset()
	r.o.machines.Put(r.m)
}

// machine starts the machine of a task. Events of its steps are kept if it is watched, and panics
// are reported by onPanic.
func (o *Orchestrator) machine(task *Task, allowed []tools.Definition, watched bool, onPanic func(*PanicReport)) (*Machine, error) {
	root := task.Strategy
	if root == "" {
		root = o.byDefault
	}
	m, ok := o.machines.Get().(*Machine)
	if !ok {
		m = new(Machine)
	}
	m.silent, m.durable, m.onPanic = !watched, o.store != nil, onPanic
	return m, m.start(&MachineConfig{
		Run:    task.Run,
		Set:    o.strategies,
		Root:   root,
		Input:  task.Input,
		Limits: overlay(task.Limits, o.limits),
		Tools:  allowed,
		Remote: o.remoteList,

		StopNote: o.stopNote,
	})
}

// outcome is the error of a run. It is not a typed nil.
func outcome(err *delegation.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// answer performs the pending step, or finds that the run is to be stopped.
func (r *run) answer(ctx context.Context) (nextstep.Answer, []Wait) {
	if cause := r.stopped(ctx); cause != nil {
		return r.stopBefore(cause), nil
	}
	r.begin()
	answer, err := r.handle(ctx)
	if r.session != nil {
		r.sink.drain()
	}
	if r.streams {
		r.tellWhole(answer)
	}
	if err == nil && !r.o.wrapped && r.partial == nil && ctx.Err() == nil {
		return answer, nil
	}
	return r.judge(ctx, answer, err)
}

// judge makes an answer of what a Handler returned: one that failed, was interrupted, or is not
// ours.
func (r *run) judge(ctx context.Context, answer nextstep.Answer, err error) (nextstep.Answer, []Wait) {
	start := r.call.start
	if r.now.Equal(start) { // the Handler is not ours, or did not come to its end
		r.now = time.Now()
	}
	if errors.Is(err, ErrSuspended) {
		return r.suspended(ctx, err)
	}
	if err != nil {
		answer = failure(r.call.Step, err)
	}
	answer = r.completed(answer)
	return timed(r.interrupted(ctx, answer), r.now.Sub(start)), nil
}

// begin makes r.call the pending step. What is the same in most steps is left as it is.
func (r *run) begin() {
	c := &r.call
	if frame, depth := r.m.Frame(); r.o.wrapped || c.Frame != frame {
		*c = Call{Run: r.m.Run(), Frame: frame, Depth: depth, run: r}
	}
	r.sink.begin(r.m.Seq())
	c.Seq, c.Step, c.Tools, c.Untrusted, c.start = r.m.Seq(), r.m.Pending(), r.m.Tools(), r.m.untrusted, r.now
	if r.resumed {
		r.beginAgain()
	}
}

// elapsed reads the clock at the end of a step and returns the time since its beginning.
func (r *run) elapsed() time.Duration {
	r.now = time.Now()
	return r.now.Sub(r.call.start)
}

// handle calls the Handler, and turns a panic into an error.
func (r *run) handle(ctx context.Context) (answer nextstep.Answer, err error) {
	r.at = ""
	defer func() {
		if v := recover(); v != nil {
			if r.sink.yielding { // it is the consumer's, not the Handler's
				panic(v)
			}
			p := &PanicError{Value: v, Stack: debug.Stack()}
			r.panicked(either(r.at, "a middleware"), v, p.Stack)
			err = delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing %s %w", r.call.Step.Kind(), p))
		}
	}()
	if !r.o.wrapped {
		return r.perform(ctx)
	}
	return r.o.handler(ctx, r.call)
}

// timed sets the time that a step took, where the Handler did not.
func timed(answer nextstep.Answer, elapsed time.Duration) nextstep.Answer {
	switch a := answer.(type) {
	case nextstep.APIResponse:
		if a.Elapsed == 0 {
			a.Elapsed = elapsed
			return a
		}
	case nextstep.ToolResults:
		if a.Elapsed == 0 {
			a.Elapsed = elapsed
			return a
		}
	case nextstep.DelegationResult:
		a.Elapsed = elapsed
		return a
	case nextstep.Failure:
		a.Elapsed = elapsed
		return a
	case nextstep.Stop:
		a.Elapsed = elapsed
		return a
	}
	return answer
}
