package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
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
	req     llmclient.Request
	onDelta func(llmclient.Delta)
	delta   Event // what the deltas of a step have in common
	session *tools.Session
	common  tools.Batch
}

// loop makes a run. It is the only loop there is.
func (o *Orchestrator) loop(ctx context.Context, task Task, streams bool, yield func(Event, error) bool) {
	m, err := o.machine(task)
	if err != nil {
		yield(Event{}, err)
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := o.timeouts.Run; d > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, d, fmt.Errorf("the run took longer than %v", d))
		defer end()
	}
	r := &run{o: o, m: m, stop: task.Stop, streams: streams, now: time.Now()}
	defer r.close()
	r.sink.yield = yield
	r.sink.cancel = cancel
	ctx = llmclient.WithNotify(ctx, r.notice)
	for r.tell(m.Events()) && !m.Done() {
		answer, waits := r.answer(ctx)
		if waits != nil {
			r.suspend(waits)
			return
		}
		if err := m.Step(answer); err != nil { // a middleware made an answer that is none
			err = m.Step(failure(m.Pending(), err))
			if err != nil {
				return // the Machine takes a Failure for every step that it leaves to us
			}
		}
	}
}

// close lets go of what the run kept between steps.
func (r *run) close() {
	if r.session != nil {
		r.session.Close()
	}
}

// machine starts the machine of a task.
func (o *Orchestrator) machine(task Task) (*Machine, error) {
	root := task.Strategy
	if root == "" {
		root = o.byDefault
	}
	return NewMachine(MachineConfig{
		Run:    task.Run,
		Set:    o.strategies,
		Root:   root,
		Input:  task.Input,
		Limits: overlay(task.Limits, o.limits),
		Tools:  o.tools.Definitions(),
		Remote: o.remoteList,
	})
}

// tell yields events and reports whether anybody still listens. The error of the run comes with its last event.
func (r *run) tell(events []Event) bool {
	if len(events) == 0 {
		return r.sink.listening()
	}
	for i := range events {
		e := &events[i]
		e.Time = r.now
		if e.Kind == EventRunFinished {
			return r.sink.last(*e, outcome(r.m.Output()))
		}
		if !r.sink.deliver(*e) {
			return false
		}
	}
	return true
}

// outcome is the error of a run. It is not a typed nil.
func outcome(out delegation.Output) error {
	if out.Err == nil {
		return nil
	}
	return out.Err
}

// answer performs the pending step, or finds that the run is to be stopped.
func (r *run) answer(ctx context.Context) (nextstep.Answer, []Wait) {
	if reason, ok := r.stopped(ctx); ok {
		return nextstep.Stop{Reason: reason}, nil
	}
	frame, depth := r.m.Frame()
	start := r.now
	r.call = Call{Run: r.m.Run(), Frame: frame, Depth: depth, Seq: r.m.Seq(), Step: r.m.Pending(), Tools: r.m.Tools(), run: r, start: start}
	answer, err := r.handle(ctx)
	if r.now.Equal(start) { // the Handler is not ours, or did not come to its end
		r.now = time.Now()
	}
	if s, ok := errors.AsType[*SuspendedError](err); ok {
		return nil, s.Waits
	}
	if errors.Is(err, ErrSuspended) {
		return nil, []Wait{{ID: r.call.Key(), Frame: frame, Kind: "step", Text: err.Error()}}
	}
	if err != nil {
		answer = failure(r.call.Step, err)
	}
	return timed(r.interrupted(ctx, answer), r.now.Sub(start)), nil
}

// elapsed reads the clock at the end of a step and returns the time since its beginning.
func (r *run) elapsed() time.Duration {
	r.now = time.Now()
	return r.now.Sub(r.call.start)
}

// handle calls the Handler, and turns a panic into an error.
func (r *run) handle(ctx context.Context) (answer nextstep.Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing %s panicked: %v", r.call.Step.Kind(), v))
		}
	}()
	return r.o.handler(ctx, r.call)
}

// stopped says whether, and why, the run is to be stopped before its next step.
func (r *run) stopped(ctx context.Context) (string, bool) {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error(), true
	}
	select {
	case <-r.stop:
		return "stop was asked for", true
	default:
		return "", false
	}
}

// interrupted turns the answer of a step that the end of the context cut off into a Stop that keeps what there is of it.
// A reply that arrived whole all the same is an answer.
func (r *run) interrupted(ctx context.Context, answer nextstep.Answer) nextstep.Answer {
	if ctx.Err() == nil {
		return answer
	}
	stop := nextstep.Stop{Reason: context.Cause(ctx).Error()}
	switch a := answer.(type) {
	case nextstep.ToolResults:
		if r.m.misfit(a) != "" {
			return a
		}
		stop.Results = a.Results
	case nextstep.Failure:
		stop.Partial, stop.Usage = a.Partial, a.Usage
		for _, attempt := range a.Attempts {
			stop.Usage = stop.Usage.Add(attempt.Usage)
		}
	default:
		return answer
	}
	return stop
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

// suspend ends the run as waiting.
func (r *run) suspend(waits []Wait) {
	for _, w := range waits {
		r.call.Emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
	}
	e := Event{Run: r.m.Run(), Frame: "0", Depth: 1, Seq: r.m.Seq(), Time: time.Now(), Kind: EventRunFinished}
	e.Detail = RunFinished{Status: StatusWaiting, Output: r.m.soFar(), Waits: waits}
	r.sink.last(e, nil)
}

// event returns an event of the step in progress, with the time at which it began.
func (r *run) event() Event {
	c := &r.call
	return Event{Run: c.Run, Frame: c.Frame, Depth: c.Depth, Seq: c.Seq, Time: c.start}
}

// deltas returns the function that puts a model's pieces into the stream.
func (r *run) deltas() func(llmclient.Delta) {
	r.delta = r.event()
	if r.onDelta == nil {
		r.onDelta = func(d llmclient.Delta) {
			r.delta.Kind, r.delta.Text = EventTextDelta, d.Text
			if d.Kind == llmclient.DeltaThought {
				r.delta.Kind = EventThoughtDelta
			}
			r.sink.deliver(r.delta)
		}
	}
	return r.onDelta
}

// notice tells what a client's wrapper does.
func (r *run) notice(n llmclient.Notice) {
	d := RetryWaiting{Kind: n.Kind, Model: n.Model, Attempt: n.Attempt, Wait: n.Wait, Discard: n.Discard}
	if n.Err != nil {
		d.Error = n.Err.Error()
	}
	r.call.Emit(Event{Kind: EventRetryWaiting, Detail: d})
}

// soFar is the output of a run that is not done: the conversation of its root.
func (m *Machine) soFar() delegation.Output { return m.stack.All()[0].output(delegation.Output{}) }
