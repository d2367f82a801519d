package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Handler performs a step and returns the answer to it. An error means that the step could not be
// performed; it becomes a [nextstep.Failure]. One that is or wraps [ErrSuspended] ends the run as
// waiting.
//
// A Handler is called on the goroutine of Run or Stream.
type Handler func(ctx context.Context, call Call) (nextstep.Answer, error)

// Middleware wraps a [Handler]: it may look at a step, change it, answer it without calling next,
// call next again, or change the answer. It calls next on the goroutine it was called on. Context
// values reach models and tools.
type Middleware func(next Handler) Handler

// Call is a step to perform. A Middleware may hand on a changed copy.
type Call struct {
	Run   string
	Frame string
	Depth int
	Seq   int
	Step  nextstep.NextStep
	Tools []tools.Tool // that the frame's strategy brought, besides those of the Config

	Untrusted bool    // the run has read text from outside: a result of a tool whose Definition says so
	Replies   []Reply // to what the run waited for in this step; see [Call.Ask]

	run      *run
	start    time.Time           // when the step began
	approved []messages.ToolCall // nil: whatever Step holds
	tool     bool                // it is a tool's, which may outlive the step
	rules    []string            // see announce; nil in a step
}

// Key identifies the step within all runs: "run/seq".
func (c Call) Key() string { return c.Run + "/" + strconv.Itoa(c.Seq) }

// Emit puts an event of this step into the stream; run, frame, depth, seq and time are filled in.
// Its kind is one of your own, then without a Detail, or EventToolProgress, with a [ToolProgress]
// or none. All other kinds are the library's, which alone tells them: an event of such a kind, with
// another Detail, or with a kind that is empty or not UTF-8 is dropped, and logged. While tools run
// Emit may be called from any goroutine; otherwise from the Handler's own. A Call that no run has
// made has no stream: then Emit does nothing.
func (c Call) Emit(e Event) {
	if c.run == nil {
		return
	}
	if problem := e.adopt(); problem != "" {
		c.run.logEventRefused(&c, e.Kind, problem)
		return
	}
	c.emit(e)
}

// emit is Emit for events of the library.
func (c Call) emit(e Event) {
	if c.run == nil {
		return
	}
	e.Run, e.Frame, e.Depth, e.Seq, e.Time = c.Run, c.Frame, c.Depth, c.Seq, time.Now()
	c.run.sink.emit(&e, c.tool)
}

// perform is the innermost Handler.
func (o *Orchestrator) perform(ctx context.Context, call Call) (nextstep.Answer, error) {
	call.run.call = call // a Middleware may have changed it
	return call.run.perform(ctx)
}

// perform performs the step of r.call.
func (r *run) perform(ctx context.Context) (nextstep.Answer, error) {
	switch r.call.Step.(type) { // steps are large: only who needs it takes it out, so that the stack stays small
	case nextstep.GetChatCompletion:
		return r.ask(ctx)
	case nextstep.ExecuteTools:
		return r.execute(ctx)
	case nextstep.Delegate:
		return r.delegate(ctx)
	default:
		return nil, fmt.Errorf("orchestrator: a %T is not performed outside", r.call.Step)
	}
}

// ask asks a model.
func (r *run) ask(ctx context.Context) (nextstep.Answer, error) {
	outer := ctx
	if d := r.o.timeouts.Model; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, fmt.Errorf("orchestrator: no reply within %v: %w", d, context.DeadlineExceeded))
		defer cancel()
	}
	var onDelta func(llmclient.Delta)
	if r.streams {
		onDelta = r.deltas()
		if d := r.o.timeouts.ModelIdle; d > 0 {
			ctx, r.watch = watchIdle(ctx, d)
			defer func() {
				r.watch.stop()
				r.watch = nil
			}()
			onDelta = r.watch.around(onDelta)
		}
	}
	r.req = r.call.Step.(nextstep.GetChatCompletion).Request // the client keeps nothing of it
	r.at = "the client"
	resp, err := r.o.client.Complete(r.notified(ctx), &r.req, onDelta)
	r.at = ""
	if err != nil {
		return nil, timedOut(ctx, outer, r.foreign(err, "the client"))
	}
	if resp == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: r.req.Model, Message: "the client returned neither a response nor an error"}
	}
	if problem := badReply(resp); problem != "" {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: r.req.Model, Message: "the client's reply " + problem, Usage: resp.Usage, Attempts: resp.Attempts}
	}
	return nextstep.APIResponse{Response: resp, Elapsed: r.elapsed()}, nil
}

// notified returns ctx with a function that tells what the client's wrappers do. For the context of
// the run, which most requests are made with, it is made once.
func (r *run) notified(ctx context.Context) context.Context {
	if ctx != r.ctx {
		return llmclient.WithNotify(ctx, r.notice)
	}
	if r.asking == nil {
		r.asking = llmclient.WithNotify(ctx, r.notice)
	}
	return r.asking
}

// timedOut gives an error that came because the time for a request was over, and not that of the
// run, the cause of that.
func timedOut(request, run context.Context, err error) error {
	if request.Err() == nil || run.Err() != nil {
		return err
	}
	cause := causeOfContext(request)
	late := &llmclient.Error{Code: llmclient.CodeTimeout, Message: cause.Error(), Err: errors.Join(cause, err)}
	if e, ok := errors.AsType[*llmclient.Error](cause); ok {
		late.Message = e.Message
	}
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		late.Model, late.Partial, late.Usage, late.Attempts = e.Model, e.Partial, e.Usage, e.Attempts
	}
	return late
}

// execute runs tools. While they run, events may come from any goroutine.
func (r *run) execute(ctx context.Context) (nextstep.Answer, error) {
	batch := *r.batch()
	batch.Calls, batch.Run, batch.Seq = r.call.Step.(nextstep.ExecuteTools).Calls, r.call.Run, r.call.Seq
	if id := unapproved(r.call.approved, batch.Calls); id != "" {
		return nil, notWhatWasApproved(id)
	}
	var agents *host
	if r.o.agents {
		agents = r.host(batch.Calls)
		ctx = context.WithValue(ctx, hostKey{}, agents)
	}
	if r.o.wrapped {
		r.noteEdits(batch.Calls)
	}
	r.people.begin(&r.call)
	batch.Wake, r.parallel = r.sink.share(r.call.Seq), len(batch.Calls) > 1
	defer r.sink.unshare()
	results := r.session.Run(ctx, batch)
	if agents != nil {
		agents.settle(results, r.people)
	}
	if slices.ContainsFunc(results, isSuspended) {
		return nil, r.asks().suspend(results)
	}
	return nextstep.ToolResults{Results: results, Elapsed: r.elapsed()}, nil
}

// noteEdits notes which calls of the pending step a middleware has changed.
func (r *run) noteEdits(calls []messages.ToolCall) {
	step, ok := r.m.pending.(nextstep.ExecuteTools)
	if !ok {
		return
	}
	var places map[string]int
	for n, c := range calls {
		i := n // nothing was left out before it, in most cases
		if i >= len(step.Calls) || step.Calls[i].ID != c.ID {
			if places == nil {
				places = numbered(step.Calls)
			}
			var ok bool
			if i, ok = places[c.ID]; !ok {
				continue
			}
		}
		if step.Calls[i].Name == c.Name && step.Calls[i].Arguments == c.Arguments {
			continue
		}
		if r.people.edited == nil {
			r.people.edited = slices.Clone(step.Calls)
		}
		r.people.edited[i] = c
	}
}

// batch returns what all batches of the run have in common.
func (r *run) batch() *tools.Batch {
	if r.session == nil {
		runner := r.o.runner
		runner.OnPanic = r.toolPanicked
		r.session = runner.NewSession()
		r.asks() // tools may ask from any goroutine
		r.common = tools.Batch{Lookup: r.lookup, Names: r.o.tools.Names, OnWake: r.sink.drain, Ask: r.askTool}
		if r.watched { // else nobody sees them
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

// definition returns what is known of a tool.
func (c Call) definition(name string) (tools.Definition, bool) {
	for _, t := range c.Tools {
		if def := t.Definition(); def.Name == name {
			return def, true
		}
	}
	if c.run == nil { // nobody knows the tools of the run: it is as dangerous as any
		return tools.Definition{Name: name}, true
	}
	t, ok := c.run.o.tools.Lookup(name)
	if !ok {
		return tools.Definition{}, false
	}
	return t.Definition(), true
}

// observe tells of a tool, on the goroutine of the loop.
func (r *run) observe(ob tools.Observation) {
	e := r.event()
	switch ob.Kind {
	case tools.Started:
		e.Kind, e.Detail = EventToolStarted, ToolStarted{Call: *ob.Call}
	case tools.Progressed:
		e.Kind, e.Text, e.Detail = EventToolProgress, ob.Text, ToolProgress{CallID: ob.Call.ID, ToolName: ob.Call.Name}
		e.Time = time.Now()
	case tools.Finished:
		e.Kind, e.Detail = EventToolFinished, ToolFinished{Output: *ob.Output}
		if e.Time = e.Time.Add(ob.Output.Elapsed); r.parallel {
			e.Time = time.Now()
		}
	}
	if ob.Kind != tools.Started { // else the consumer could stop the run here, and the call began all the same
		r.sink.drain() // what the call told before, it told before
	}
	r.sink.deliver(&e)
}

// delegate has another service run a strategy.
func (r *run) delegate(ctx context.Context) (nextstep.Answer, error) {
	step := r.call.Step.(nextstep.Delegate)
	remote, ok := r.o.remote[step.Strategy]
	if !ok {
		return nil, fmt.Errorf("orchestrator: no remote strategy %q", step.Strategy)
	}
	r.at = "the remote " + step.Strategy
	out, err := remote(ctx, step)
	r.at = ""
	if err != nil {
		return nil, r.foreign(err, "the remote "+step.Strategy)
	}
	return nextstep.DelegationResult{Output: out, Elapsed: r.elapsed()}, nil
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
		f.Code, f.Partial = delegation.Code(e.Code), e.Partial
		if badUsage(e.Usage, e.Attempts) == "" { // else the failure itself would be no answer
			f.Usage, f.Attempts = e.Usage, e.Attempts
		}
		if len(f.Partial.Content) == 0 && e.Generated != "" {
			f.Partial = messages.AssistantText(e.Generated)
		}
	}
	return f
}
