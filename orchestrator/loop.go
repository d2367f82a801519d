package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
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
	watch    *idleWatch // over the request in progress; nil: none

	journal *journal              // nil: none is kept
	claimed string                // the id under which this run is in progress; "": none
	resumed bool                  // from the journal
	fresh   []Reply               // that it was resumed with
	partial []messages.ToolOutput // of the pending batch, whose other calls wait for somebody
	kept    int                   // partial[:kept] stands in the journal
	people  *people               // nil: nobody was asked yet
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
	m, err := o.machine(task, allowed, streams)
	if err != nil {
		return nil, err
	}
	m.untrusted = m.untrusted || parent.untrusted
	r := &run{o: o, m: m, now: time.Now()}
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
	return r.journal.append(ctx, &entry{Type: entryStart, At: r.now, Start: &start{
		Strategy: r.m.root.strategy,
		Input:    task.Input,
		Limits:   r.m.root.limits,
		Parent:   parent.run,

		Untrusted: parent.untrusted,
	}})
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
	r.ctx, r.stop, r.streams, m.silent = ctx, stop, streams, !streams
	r.sink.yield, r.sink.cancel = yield, cancel
	r.tellResumed()
	for r.tell(m.Events()) && !m.Done() {
		answer, waits := r.answer(ctx)
		if waits != nil {
			r.suspend(ctx, waits)
			return
		}
		if stop, ok := answer.(nextstep.Stop); ok && errors.Is(stop.Err, errBreak) {
			r.breakOff(ctx, stop.Results)
			return
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
}

// store keeps an answer before the run goes on with it. One that has no JSON form is a failure of its step.
func (r *run) store(ctx context.Context, answer nextstep.Answer) (nextstep.Answer, error) {
	if r.journal != nil {
		text, err := nextstep.MarshalAnswer(unraw(answer))
		if err != nil {
			answer = failure(r.m.Pending(), fmt.Errorf("orchestrator: the answer cannot be stored: %w", err))
			if text, err = nextstep.MarshalAnswer(answer); err != nil {
				return answer, &JournalError{Run: r.m.Run(), Err: err}
			}
		}
		if err := r.journal.answered(ctx, r.m, text, r.now); err != nil {
			return answer, err
		}
	}
	r.settled()
	return answer, nil
}

// settle puts into an answer what only the loop knows: what runs have used that tools made, and which calls a middleware
// has changed.
func (r *run) settle(answer nextstep.Answer) nextstep.Answer {
	if r.people == nil {
		return answer
	}
	spent, calls := r.people.spent.Add(r.people.cut), r.people.edited
	if spent == (nextstep.Spent{}) && calls == nil {
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

// breakOff ends the work on a run whose consumer went away. The run has not ended: it can be resumed, and results that it
// has stay.
func (r *run) breakOff(ctx context.Context, results []messages.ToolOutput) {
	for _, o := range results {
		again := o.Status == messages.StatusFailed && o.Reason == messages.ReasonInterrupted
		if _, kept := resultOf(r.partial, o.CallID); !kept && !again {
			r.partial = append(r.partial, o)
		}
	}
	replies, _ := r.asks().unstored()
	if r.journal != nil && (len(r.partial) > r.kept || len(replies) > 0) {
		_ = r.storeWaits(ctx, nil) // nobody is there to be told; what is not stored is done again
	}
}

// settled forgets what was asked in a step that has its answer.
func (r *run) settled() {
	r.partial, r.kept = nil, 0
	if r.people != nil {
		r.people.reset(r.m.Seq())
	}
}

// broken ends a run whose journal cannot be written. What could not be stored is told all the same, where it can be.
func (r *run) broken(err error, answer nextstep.Answer) {
	out := r.m.soFar(answer)
	out.Err = delegation.NewError(delegation.CodeStorage, err)
	e := r.m.rootEvent(EventRunFinished, RunFinished{Status: StatusFailed, Output: out})
	e.Time = r.now
	r.sink.last(&e, out.Err)
}

// tellResumed tells that a run goes on, and with what.
func (r *run) tellResumed() {
	if !r.resumed {
		return
	}
	e := r.m.rootEvent(EventRunResumed, RunResumed{Strategy: r.m.root.strategy, Goal: r.m.root.input.Goal})
	e.Time = r.now
	r.sink.deliver(&e)
	for _, reply := range r.fresh {
		e.Kind, e.Detail = EventWaitEnded, WaitEnded{WaitID: reply.WaitID, Reply: &reply}
		r.sink.deliver(&e)
	}
}

// claim takes a run for this Orchestrator: nobody else in it may work on the same.
func (r *run) claim(id string) error {
	if _, taken := r.o.active.LoadOrStore(id, true); taken {
		return &JournalError{Run: id, Err: fmt.Errorf("the run is in progress: %w", checkpoint.ErrConflict)}
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

// machine starts the machine of a task.
func (o *Orchestrator) machine(task *Task, allowed []tools.Definition, streams bool) (*Machine, error) {
	root := task.Strategy
	if root == "" {
		root = o.byDefault
	}
	m, ok := o.machines.Get().(*Machine)
	if !ok {
		m = new(Machine)
	}
	m.silent = !streams
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

// tell yields events and reports whether anybody still listens. The error of the run comes with its last event.
func (r *run) tell(events []Event) bool {
	if len(events) == 0 {
		return r.sink.listening()
	}
	for _, e := range events {
		e.Time = r.now
		if e.Kind == EventRunFinished {
			return r.sink.last(&e, outcome(r.m.output.Err))
		}
		if !r.sink.deliver(&e) {
			return false
		}
	}
	return true
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

// stopBefore stops the run before its pending step. Of a batch that waits, results that are there are kept.
func (r *run) stopBefore(cause error) nextstep.Answer {
	stop := nextstep.Stop{Reason: cause.Error(), Err: cause}
	if len(r.partial) > 0 {
		stop.Results = r.unanswered()
	}
	return stop
}

// unanswered are the results of a batch whose other calls were waiting when the run was stopped, which is told.
func (r *run) unanswered() []messages.ToolOutput {
	return r.whole(nil, func(c messages.ToolCall) messages.ToolOutput {
		out := notApproved(c)
		frame, depth := r.m.Frame() // of a run that is stopped as soon as it is resumed no step has begun
		e := Event{Run: r.m.Run(), Frame: frame, Depth: depth, Seq: r.m.Seq(), Time: r.now, Kind: EventToolFinished, Detail: ToolFinished{Output: out}}
		r.sink.deliver(&e)
		return out
	})
}

// notApproved answers a call that was still waiting when the run was stopped.
func notApproved(c messages.ToolCall) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: messages.ReasonInterrupted,
		Output: "the run was stopped while this call waited for somebody",
	}
}

// tellWhole tells a reply that came without deltas: a client need not stream.
func (r *run) tellWhole(answer nextstep.Answer) {
	a, ok := answer.(nextstep.APIResponse)
	if !ok || a.Response == nil || r.delta.Seq == r.call.Seq {
		return
	}
	tell := r.deltas()
	for _, part := range a.Response.Message.Content {
		switch c := part.(type) {
		case messages.Text:
			tell(llmclient.Delta{Kind: llmclient.DeltaText, Text: c.Text})
		case messages.Thought:
			tell(llmclient.Delta{Kind: llmclient.DeltaThought, Text: c.Text})
		default: // calls are told when they are made
		}
	}
}

// judge makes an answer of what a Handler returned: one that failed, was interrupted, or is not ours.
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

// suspended deals with a step that waits for somebody.
func (r *run) suspended(ctx context.Context, err error) (nextstep.Answer, []Wait) {
	s, ok := errors.AsType[*SuspendedError](err)
	if !ok {
		s = new(SuspendedError)
	}
	if len(s.Waits) == 0 {
		s.Waits = []Wait{{Kind: WaitStep, Text: err.Error()}}
	}
	if _, ok := r.m.pending.(nextstep.ExecuteTools); ok {
		r.partial = append(r.partial, s.Results...)
	}
	if cause := r.stopped(ctx); cause != nil {
		stop := nextstep.Stop{Reason: cause.Error(), Err: cause}
		if _, ok := r.m.pending.(nextstep.ExecuteTools); ok {
			stop.Results = r.unanswered()
		}
		return stop, nil
	}
	return nil, r.identified(s.Waits)
}

// identified fills in what waits do not say themselves. Their ids differ.
func (r *run) identified(waits []Wait) []Wait {
	known := map[string]bool{}
	var list []Wait
	for _, w := range waits {
		w.Run, w.Frame, w.Seq = either(w.Run, r.m.Run()), either(w.Frame, r.call.Frame), either(w.Seq, r.call.Seq)
		w.Kind = either(w.Kind, WaitStep)
		if w.ID == "" {
			w.ID = w.identity()
		}
		if !known[w.ID] {
			known[w.ID], list = true, append(list, w)
		}
	}
	return list
}

// completed puts the parts of a batch together that was made in parts.
func (r *run) completed(answer nextstep.Answer) nextstep.Answer {
	if len(r.partial) == 0 {
		return answer
	}
	switch a := answer.(type) {
	case nextstep.ToolResults:
		if mismatch(r.remaining(r.m.pending.(nextstep.ExecuteTools).Calls), a.Results) == "" {
			a.Results = r.whole(a.Results, notApproved)
			return a
		}
	case nextstep.Failure: // of the rest; what there is stays
		broken := func(c messages.ToolCall) messages.ToolOutput {
			return brokenResults([]messages.ToolCall{c}, errors.New(a.Message))[0]
		}
		return nextstep.ToolResults{Results: r.whole(nil, broken), Elapsed: a.Elapsed}
	}
	return answer
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

// beginAgain leaves out of a step what the run had done of it before it was resumed.
func (r *run) beginAgain() {
	c := &r.call
	c.Replies = slices.Clone(r.asks().replies)
	if step, ok := c.Step.(nextstep.ExecuteTools); ok && len(r.partial) > 0 {
		c.Step = nextstep.ExecuteTools{Calls: r.remaining(step.Calls)}
	}
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
			if r.sink.yielding { // it is the consumer's, not the Handler's
				panic(v)
			}
			err = delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing %s %w", r.call.Step.Kind(), &PanicError{Value: v, Stack: debug.Stack()}))
		}
	}()
	if !r.o.wrapped {
		return r.perform(ctx)
	}
	return r.o.handler(ctx, r.call)
}

// errStop is why a run ends whose Stop was closed.
var errStop = errors.New("stop was asked for")

// stopped says why the run is to be stopped before its next step; nil if it is not.
func (r *run) stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return causeOfEnd(ctx)
	}
	select {
	case <-r.stop:
		return errStop
	default:
		return nil
	}
}

// causeOfEnd is the cause of a context that is done, with its error within reach of errors.Is.
func causeOfEnd(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return &endError{cause: cause, err: ctx.Err()}
}

type endError struct{ cause, err error }

func (e *endError) Error() string   { return e.cause.Error() }
func (e *endError) Unwrap() []error { return []error{e.cause, e.err} }

// interrupted turns the answer of a step that the end of the context cut off into a Stop that keeps what there is of it.
// A reply that arrived whole all the same is an answer.
func (r *run) interrupted(ctx context.Context, answer nextstep.Answer) nextstep.Answer {
	if ctx.Err() == nil {
		return answer
	}
	cause := causeOfEnd(ctx)
	stop := nextstep.Stop{Reason: cause.Error(), Err: cause}
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
		if step, ok := r.m.Pending().(nextstep.ExecuteTools); ok {
			stop.Results = unknownResults(step.Calls, cause)
		}
	default:
		return answer
	}
	return stop
}

// unknownResults answers a batch that may have run, and of which nobody said how it went.
func unknownResults(calls []messages.ToolCall, cause error) []messages.ToolOutput {
	results := make([]messages.ToolOutput, len(calls))
	for i, c := range calls {
		results[i] = messages.ToolOutput{
			CallID: c.ID, ToolName: c.Name, Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted,
			Output: "the call was interrupted, and may have had its effect: " + cause.Error(),
		}
	}
	return results
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
func (r *run) suspend(ctx context.Context, waits []Wait) {
	for _, w := range waits {
		if !r.asks().asked(w) {
			r.call.Emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
		}
	}
	if err := r.storeWaits(ctx, waits); err != nil {
		r.broken(err, r.soFarOfBatch())
		return
	}
	e := r.m.rootEvent(EventRunFinished, RunFinished{Status: StatusWaiting, Output: r.m.soFar(r.soFarOfBatch()), Waits: waits})
	e.Time = time.Now()
	r.sink.last(&e, nil)
}

// storeWaits keeps what a run waits for, and what there is of the step that waits.
func (r *run) storeWaits(ctx context.Context, waits []Wait) error {
	if r.journal == nil {
		return nil
	}
	replies, answered := r.asks().unstored()
	return r.journal.append(ctx, &entry{
		Type: entryWait, At: r.now, Seq: r.m.Seq(), Frame: r.call.Frame,
		Waits: waits, Results: r.partial[r.kept:], Replies: replies, Answered: answered, Calls: r.asks().edited,
		Spent: r.asks().spent,
	})
}

// event returns an event of the step in progress, with the time at which it began.
func (r *run) event() Event {
	c := &r.call
	return Event{Run: c.Run, Frame: c.Frame, Depth: c.Depth, Seq: c.Seq, Time: c.start}
}

// deltas returns the function that puts a model's pieces into the stream.
func (r *run) deltas() func(llmclient.Delta) {
	if r.onDelta == nil {
		r.onDelta = func(d llmclient.Delta) {
			if r.delta.Seq != r.call.Seq {
				r.delta = r.event()
			}
			r.delta.Kind, r.delta.Text = EventTextDelta, d.Text
			if d.Kind == llmclient.DeltaThought {
				r.delta.Kind = EventThoughtDelta
			}
			r.sink.deliver(&r.delta)
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
	if r.watch != nil {
		r.watch.rest(n.Wait)
	}
	if n.Discard {
		r.delta.Seq = 0 // there are none of this step any more
	}
	r.call.Emit(Event{Kind: EventRetryWaiting, Detail: d})
}

// soFar is the output of a run that is not done: the conversation of its root. What the pending step was answered, if it is
// the root's, is added; nil is nothing.
func (m *Machine) soFar(answer nextstep.Answer) delegation.Output {
	root := *m.stack.All()[0]
	if answer != nil && m.stack.Depth() == 1 {
		root.answers = append(slices.Clip(root.answers), answer)
	}
	return root.output(delegation.Output{})
}

// soFarOfBatch is what there is of a batch that waits; nil if the pending step is none.
func (r *run) soFarOfBatch() nextstep.Answer {
	if _, ok := r.m.pending.(nextstep.ExecuteTools); !ok {
		return nil
	}
	return nextstep.Stop{Results: r.whole(nil, waiting)}
}

// waiting stands for the result of a call that waits for somebody.
func waiting(c messages.ToolCall) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: tools.ReasonSuspended,
		Output: "this call waits for somebody",
	}
}
