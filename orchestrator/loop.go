package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/nextstep"
)

// run is one run in progress, at the edge.
type run struct {
	o       *Orchestrator
	m       *Machine
	stop    <-chan struct{}
	streams bool
	sink    sink
	call    Call // the step in progress
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
	r := &run{o: o, m: m, stop: task.Stop, streams: streams}
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
	now := time.Now()
	for i := range events {
		e := events[i]
		e.Time = now
		if e.Kind == EventRunFinished {
			return r.sink.last(e, outcome(r.m.Output()))
		}
		if !r.sink.deliver(e) {
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
	r.call = Call{Run: r.m.Run(), Frame: frame, Depth: depth, Seq: r.m.Seq(), Step: r.m.Pending(), Tools: r.m.Tools(), run: r}
	start := time.Now()
	answer, err := r.handle(ctx)
	elapsed := time.Since(start)
	if s, ok := errors.AsType[*SuspendedError](err); ok {
		return nil, s.Waits
	}
	if errors.Is(err, ErrSuspended) {
		return nil, []Wait{{ID: r.call.Key(), Frame: frame, Kind: "step", Text: err.Error()}}
	}
	if err != nil {
		answer = failure(r.call.Step, err)
	}
	return timed(r.interrupted(ctx, answer), elapsed), nil
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

// timed sets the time that a step took.
func timed(a nextstep.Answer, elapsed time.Duration) nextstep.Answer {
	switch a := a.(type) {
	case nextstep.APIResponse:
		a.Elapsed = elapsed
		return a
	case nextstep.ToolResults:
		a.Elapsed = elapsed
		return a
	case nextstep.DelegationResult:
		a.Elapsed = elapsed
		return a
	case nextstep.Failure:
		a.Elapsed = elapsed
		return a
	case nextstep.Stop:
		a.Elapsed = elapsed
		return a
	default:
		return a
	}
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

// deltas returns the function that puts a model's pieces into the stream.
func (r *run) deltas(call Call) func(llmclient.Delta) {
	e := Event{Run: call.Run, Frame: call.Frame, Depth: call.Depth, Seq: call.Seq, Time: time.Now()}
	return func(d llmclient.Delta) {
		e.Kind = EventTextDelta
		if d.Kind == llmclient.DeltaThought {
			e.Kind = EventThoughtDelta
		}
		e.Text = d.Text
		r.sink.deliver(e)
	}
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
