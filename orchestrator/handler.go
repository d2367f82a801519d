package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Handler performs a step and returns the answer to it. An error means that the step could not be performed; it becomes
// a [nextstep.Failure]. One that is or wraps [ErrSuspended] ends the run as waiting.
//
// A Handler is called on the goroutine of Run or Stream.
type Handler func(ctx context.Context, call Call) (nextstep.Answer, error)

// Middleware wraps a [Handler]: it may look at a step, change it, answer it without calling next, call next again, or
// change the answer. It calls next on the goroutine it was called on. Context values reach models and tools.
type Middleware func(next Handler) Handler

// Call is a step to perform. A Middleware may hand on a changed copy.
type Call struct {
	Run   string
	Frame string
	Depth int
	Seq   int
	Step  nextstep.NextStep
	Tools []tools.Tool // that the frame's strategy brought, besides those of the Config

	run   *run
	start time.Time // when the step began
}

// Key identifies the step within all runs: "run/seq".
func (c Call) Key() string { return c.Run + "/" + strconv.Itoa(c.Seq) }

// Emit puts an event of this step into the stream; run, frame, depth, seq and time are filled in. While tools run it may
// be called from any goroutine; otherwise from the Handler's own.
func (c Call) Emit(e Event) {
	e.Run, e.Frame, e.Depth, e.Seq, e.Time = c.Run, c.Frame, c.Depth, c.Seq, time.Now()
	c.run.sink.emit(e)
}

// ErrSuspended is what the error of a Handler that cannot answer now wraps. See [SuspendedError].
var ErrSuspended = errors.New("orchestrator: the run waits")

// SuspendedError ends a run as waiting, and says for what.
type SuspendedError struct{ Waits []Wait }

// Error says how many waits there are.
func (e *SuspendedError) Error() string {
	return fmt.Sprintf("%v: %d waits", ErrSuspended, len(e.Waits))
}

// Unwrap returns [ErrSuspended].
func (e *SuspendedError) Unwrap() error { return ErrSuspended }

// perform is the innermost Handler.
func (o *Orchestrator) perform(ctx context.Context, call Call) (nextstep.Answer, error) {
	r := call.run
	if o.wrapped {
		r.call = call // a Middleware may have changed it
	}
	switch step := call.Step.(type) {
	case nextstep.GetChatCompletion:
		return o.ask(ctx, r, step)
	case nextstep.ExecuteTools:
		return o.execute(ctx, r, step)
	case nextstep.Delegate:
		return o.delegate(ctx, step)
	default:
		return nil, fmt.Errorf("orchestrator: a %T is not performed outside", call.Step)
	}
}

// ask asks a model.
func (o *Orchestrator) ask(ctx context.Context, r *run, step nextstep.GetChatCompletion) (nextstep.Answer, error) {
	if d := o.timeouts.Model; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fmt.Errorf("orchestrator: no reply within %v: %w", d, context.DeadlineExceeded))
		defer cancel()
	}
	var onDelta func(llmclient.Delta)
	if r.streams {
		onDelta = r.deltas()
		if d := o.timeouts.ModelIdle; d > 0 {
			var watch *idleWatch
			ctx, watch = watchIdle(ctx, d)
			defer watch.stop()
			onDelta = watch.around(onDelta)
		}
	}
	r.req = step.Request // the client keeps nothing of it
	resp, err := o.client.Complete(ctx, &r.req, onDelta)
	if err != nil {
		return nil, err
	}
	if resp == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: step.Request.Model, Message: "the client returned neither a response nor an error"}
	}
	return nextstep.APIResponse{Response: resp, Elapsed: r.elapsed()}, nil
}

// execute runs tools. While they run, events may come from any goroutine.
func (o *Orchestrator) execute(ctx context.Context, r *run, step nextstep.ExecuteTools) (nextstep.Answer, error) {
	batch := r.batch()
	batch.Calls, batch.Key = step.Calls, r.call.Key()
	defer func() { batch.Calls = nil }()
	batch.Wake = r.sink.share()
	defer r.sink.unshare()
	results := r.session.Run(ctx, *batch)
	return nextstep.ToolResults{Results: results, Elapsed: r.elapsed()}, nil
}

// batch returns what all batches of the run have in common.
func (r *run) batch() *tools.Batch {
	if r.session == nil {
		r.session = r.o.runner.NewSession()
		r.common = tools.Batch{Lookup: r.lookup, Names: r.o.tools.Names, OnWake: r.sink.drain}
		if r.streams { // nobody sees the events of Run
			r.common.Observe = r.observe
		}
	}
	return &r.common
}

// lookup finds a tool that the pending step may call.
func (r *run) lookup(name string) (tools.Tool, bool) {
	for _, t := range r.call.Tools {
		if t.Definition().Name == name {
			return t, true
		}
	}
	return r.o.tools.Lookup(name)
}

// observe tells of a tool, on the goroutine of the loop.
func (r *run) observe(ob tools.Observation) {
	e := r.event()
	switch ob.Kind {
	case tools.Started:
		e.Kind, e.Detail = EventToolStarted, ToolStarted{Call: ob.Call}
	case tools.Progressed:
		e.Kind, e.Text, e.Detail = EventToolProgress, ob.Text, ToolProgress{CallID: ob.Call.ID, ToolName: ob.Call.Name}
		e.Time = time.Now()
	case tools.Finished:
		e.Kind, e.Detail = EventToolFinished, ToolFinished{Output: ob.Output}
		if e.Time = e.Time.Add(ob.Output.Elapsed); len(r.common.Calls) > 1 {
			e.Time = time.Now()
		}
	}
	r.sink.deliver(e)
}

// delegate has another service run a strategy.
func (o *Orchestrator) delegate(ctx context.Context, step nextstep.Delegate) (nextstep.Answer, error) {
	remote, ok := o.remote[step.Strategy]
	if !ok {
		return nil, fmt.Errorf("orchestrator: no remote strategy %q", step.Strategy)
	}
	out, err := remote(ctx, step)
	if err != nil {
		return nil, err
	}
	return nextstep.DelegationResult{Output: out}, nil
}

// failure turns the error of a Handler into an answer.
func failure(step nextstep.NextStep, err error) nextstep.Failure {
	f := nextstep.Failure{Code: delegation.AsError(err).Code, Message: err.Error(), Err: err}
	switch step.Kind() {
	case nextstep.KindGetChatCompletion:
		f.Source = nextstep.SourceModel
	case nextstep.KindExecuteTools:
		f.Source = nextstep.SourceTool
	default:
		f.Source = nextstep.SourceStrategy
	}
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		f.Code, f.Partial, f.Usage, f.Attempts = delegation.Code(e.Code), e.Partial, e.Usage, e.Attempts
		if len(f.Partial.Content) == 0 && e.Generated != "" {
			f.Partial = messages.AssistantText(e.Generated)
		}
	}
	return f
}
