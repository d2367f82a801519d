package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/internal/repeats"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// request is the request of an execution to a model, and the common fields of its deltas.
type request struct {
	llmclient.Request
	aside  bool // no text of its reply is told
	event  machine.Event
	detail machine.Detail // the CallDelta that was told last
	loop   loopWatch
	idle   *idleTimer // nil: the time without a piece is not bounded
}

// askModel asks a model.
func (x *execution) askModel(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	step, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return nil, fmt.Errorf("orchestrator: a middleware made a %T of a request", e.Step)
	}
	if !x.alone || x.request == nil { // the requests of the loop come one after another
		x.request = new(request)
	}
	o, outer := x.run.o, ctx
	if t := o.cfg.Timeouts.Model; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, fmt.Errorf("orchestrator: no reply within %v: %w", t, context.DeadlineExceeded))
		defer cancel()
	}
	if t := o.cfg.Timeouts.ModelIdle; t > 0 {
		ctx, x.request.idle = newIdleTimer(ctx, t, !x.run.streams)
		defer func() {
			x.request.idle.stop()
			x.request.idle = nil
		}()
	}
	x.request.aside = step.Aside
	x.request.Request = step.Request // the client must not keep it
	ask := x.asks(ctx)
	ask.last = x.effect.Left.ModelCalls == 0
	if !x.alone || ctx != x.run.ctx {
		defer ask.cut(nil)
	}
	x.request.event = x.event()
	x.request.loop.begin(&o.cfg.Repetition, ask.cut)
	x.inClient = true
	resp, err := o.left.complete(&x.request.Request, ask, !o.cfg.KeepTextCalls && !step.Aside)
	x.inClient = false
	if loop := &x.request.loop; resp != nil && !loop.found {
		loop.begin(loop.most, ask.cut)
		for i, c := range resp.Message.Calls() { // not every client streams them
			loop.call(llmclient.CallDelta{Index: i, Tool: c.Name, Text: c.Arguments})
		}
	}
	if x.request.loop.found && outer.Err() == nil {
		resp, err = x.cutReply(resp, err), nil
	}
	if err != nil {
		return nil, timedOut(ctx, outer, x.readError(err, "the client"))
	}
	if resp == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: step.Request.Model, Message: "the client returned neither a response nor an error"}
	}
	if problem := machine.BadReply(resp); problem != "" {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: cmp.Or(resp.Asked, resp.Model, step.Request.Model), Message: "the client's reply " + problem, Usage: resp.Usage, Attempts: resp.Attempts}
	}
	return nextstep.APIResponse{Response: resp}, nil
}

// asking is how a run asks the client, and what it does with the pieces of the reply.
type asking struct {
	run         context.Context         // with which the run asks
	ctx         context.Context         // of the request: what the client tells goes to the run
	cut         context.CancelCauseFunc // ends ctx
	onDelta     func(llmclient.Delta)   // watches a piece and shows it; nil: nobody is shown pieces
	watch, show func(llmclient.Delta)
	last        bool // no other model call is left: the request is not made again
}

// asks returns how to ask the client with ctx. For the execution on the loop's own goroutine, which
// makes most requests, it is made once.
func (x *execution) asks(ctx context.Context) *asking {
	r := x.run
	if !x.alone || ctx != r.ctx {
		return r.asks(ctx, x)
	}
	if r.asking == nil || r.asking.ctx.Err() != nil {
		r.asking = r.asks(ctx, nil)
	}
	return r.asking
}

// asks returns how an execution asks the client. With nil it is for the execution on the loop's
// goroutine, and what comes when the run is over is told to nobody.
func (r *run) asks(ctx context.Context, x *execution) *asking {
	a := &asking{ctx: ctx, run: ctx}
	if r.observed() {
		a.ctx = llmclient.WithNotify(a.ctx, tells(r, x, (*execution).notice))
	}
	if most := &r.o.cfg.Repetition; r.streams {
		a.onDelta, a.watch, a.show = tells(r, x, (*execution).hear), tells(r, x, (*execution).watch), tells(r, x, (*execution).show)
	} else if most.Times > 0 || most.Calls > 0 || r.o.cfg.Timeouts.ModelIdle > 0 {
		a.ctx = llmclient.WithWatch(a.ctx, tells(r, x, (*execution).hear))
	}
	a.ctx = llmclient.WithCallDeltas(a.ctx, tells(r, x, (*execution).hearCall))
	a.ctx, a.cut = context.WithCancelCause(a.ctx)
	return a
}

// tells returns a function that passes what it is told to an execution; see [run.asks].
func tells[T any](r *run, x *execution, hear func(*execution, T)) func(T) {
	return func(told T) {
		to := x
		if to == nil { // only the loop's goroutine reads alone
			to = r.alone
		}
		if to != nil {
			hear(to, told)
		}
	}
}

// hear receives a piece of a reply.
func (x *execution) hear(d llmclient.Delta) {
	x.watch(d)
	x.show(d)
}

// watch notices silence and repetition.
func (x *execution) watch(d llmclient.Delta) {
	if w := x.request.idle; w != nil {
		w.pieces.Add(2)
	}
	x.request.loop.text(d.Text)
}

// show shows a piece of a reply, if anybody is shown them.
func (x *execution) show(d llmclient.Delta) {
	if !x.run.streams {
		return
	}
	if w := x.request.idle; w != nil {
		w.pieces.Add(1) // odd while the consumer handles a delta: that time does not count as the model's
		defer w.pieces.Add(1)
	}
	x.delta(d)
}

// hearCall receives a piece of a tool call that a model writes.
func (x *execution) hearCall(d llmclient.CallDelta) {
	if w := x.request.idle; w != nil {
		w.pieces.Add(1)
		defer w.pieces.Add(1)
	}
	x.request.loop.call(d)
	x.request.loop.text(d.Text)
	if x.run.streams && x.run.o.cfg.CallDeltas {
		x.callDelta(d)
	}
}

// delta emits a piece of a reply.
func (x *execution) delta(d llmclient.Delta) {
	e := &x.request.event
	if x.run.o.heldBack() || x.request.aside {
		return
	}
	x.sawDelta = true
	e.Kind, e.Text = machine.EventTextDelta, d.Text
	if d.Kind == llmclient.DeltaThought {
		e.Kind = machine.EventThoughtDelta
	}
	if x.alone {
		x.run.consumer.deliver(e)
		return
	}
	piece := *e
	x.run.box.deliver(x, mail{execution: x, event: &piece})
}

// callDelta tells a piece of a tool call that a model writes.
func (x *execution) callDelta(d llmclient.CallDelta) {
	r := x.request
	if r.aside {
		return
	}
	now := machine.CallDelta{Index: d.Index, CallID: d.ID, ToolName: d.Tool}
	if last, ok := r.detail.(machine.CallDelta); !ok || last != now {
		r.detail = now // put into an interface once a call, and not once a piece
	}
	x.emit(machine.Event{Kind: machine.EventCallDelta, Text: d.Text, Detail: r.detail})
}

// deliverWhole emits the text of a reply without deltas as one delta, because a client need not
// stream.
func (r *run) deliverWhole(x *execution, answer nextstep.Answer) {
	a, ok := answer.(nextstep.APIResponse)
	if !ok || a.Response == nil || x.sawDelta || r.o.heldBack() || isAside(&x.effect) {
		return
	}
	e := x.event()
	r.deliverParts(&e, &a.Response.Message)
}

// isAside reports whether an effect is a request that is not part of a conversation.
func isAside(e *machine.Effect) bool {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	return ok && ask.Aside
}

// notice emits an event about what a client's wrapper does.
func (x *execution) notice(n llmclient.Notice) {
	d := machine.RetryWaiting{Kind: n.Kind, Model: n.Model, Attempt: n.Attempt, Wait: n.Wait, Discard: n.Discard}
	if n.Err != nil && !x.run.o.heldBack() {
		d.Error = x.readError(n.Err, "the client").Error()
	}
	if x.request.idle != nil {
		x.request.idle.pause(n.Wait)
	}
	if n.Discard {
		x.sawDelta = false // the deltas so far were discarded
		x.request.loop.begin(x.request.loop.most, x.request.loop.cut)
	}
	x.emit(machine.Event{Kind: machine.EventRetryWaiting, Detail: d})
}

// timedOut adds the cause to an error if the time-out of the request, not of the run, has expired.
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

// Repetition bounds how often a reply may repeat itself. A reply that passes a bound while it is
// streamed is cut off, and ends with [llmclient.FinishRepetition]; the built-in strategies tell the
// model so, once. Its text, its thoughts and the arguments of its calls count alike.
type Repetition struct {
	Block int // the longest block that is looked for, in bytes; 0: 512
	Times int // how often a block may stand at the end; 0: 24; negative: any number
	Bytes int // blocks at the end that are together no longer than this are never too many; at least two of Block; 0: 4 KiB
	Calls int // how often the last call may be made in one reply; 0: 8; negative: any number
}

// withDefaults returns the bounds with the defaults.
func (r Repetition) withDefaults() Repetition {
	usual := repeats.Usual
	return Repetition{Block: max(1, cmp.Or(r.Block, usual.Block)), Times: cmp.Or(r.Times, usual.Times), Bytes: cmp.Or(r.Bytes, usual.Bytes), Calls: cmp.Or(r.Calls, 8)}
}

var errRepeats = errors.New("orchestrator: the reply repeats itself without end")

// loopWatch watches a reply for repetition.
type loopWatch struct {
	most  *Repetition
	cut   context.CancelCauseFunc
	found bool // the reply was cut off
	tail  repeats.Tail

	index  int // of the last call; -1: there is none
	last   maphash.Hash
	before uint64 // the one before the last
	same   int    // how many calls in a row, before the last, are that one
}

// begin begins a reply, which cut ends.
func (w *loopWatch) begin(most *Repetition, cut context.CancelCauseFunc) {
	w.most, w.cut, w.found, w.index, w.same, w.before = most, cut, false, -1, 0, 0
	w.tail.Bounds = repeats.Bounds{Block: most.Block, Times: most.Times, Bytes: most.Bytes}
	w.tail.Reset()
}

// text receives a piece of text, of thought or of arguments.
func (w *loopWatch) text(piece string) {
	if w.most.Times > 0 && w.tail.Add(piece) {
		w.end()
	}
}

// call receives a piece of a call, of which text receives the arguments, too.
func (w *loopWatch) call(d llmclient.CallDelta) {
	if d.Index != w.index {
		switch sum := w.last.Sum64(); {
		case d.Index < w.index:
			w.same, w.before = 0, 0 // the reply was asked for again
		case w.index >= 0 && sum == w.before:
			w.same++
		case w.index >= 0:
			w.same, w.before = 1, sum
		}
		w.index = d.Index
		w.last.Reset()
		_, _ = w.last.WriteString(d.Tool)
	}
	_, _ = w.last.WriteString(d.Text)
	if w.most.Calls > 0 && w.same >= w.most.Calls && w.last.Sum64() == w.before {
		w.end()
	}
}

// end cuts the reply off.
func (w *loopWatch) end() {
	if !w.found {
		w.found = true
		w.cut(errRepeats)
	}
}

// cutReply returns the reply that was cut off, of what the client returned. Where neither the
// provider nor the client has counted its tokens, they are estimated.
func (x *execution) cutReply(resp *llmclient.Response, err error) *llmclient.Response {
	var cut llmclient.Response
	if resp != nil {
		cut = *resp
	} else if e, ok := errors.AsType[*llmclient.Error](err); ok {
		cut = llmclient.Response{Message: e.Partial, Usage: e.Usage, Model: e.Model, Attempts: e.Attempts}
	}
	cut.Finish = llmclient.FinishRepetition
	if cut.Usage == (messages.Usage{}) {
		in, out := int64(llmclient.EstimateTokens(&x.request.Request)), int64(x.request.loop.tail.Size+3)/4
		cut.Usage = messages.Usage{Input: in, Output: out, Total: in + out, Estimated: in + out}
	}
	return &cut
}

// idleTimer cancels a context when nothing has arrived for some time. It checks four times in that
// period, because resetting a timer for each delta would cost more than the delta.
type idleTimer struct {
	pieces      atomic.Int64
	later       bool // the silence before the first piece does not count: the reply may not be streamed
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	seen        int64
	silentLooks int
	mu          sync.Mutex // look may run while stop does
	done        bool
	pausedUntil time.Time // end of the client's own waiting time
}

const idleLooks = 4

func newIdleTimer(ctx context.Context, limit time.Duration, later bool) (context.Context, *idleTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &idleTimer{cancel: cancel, later: later}
	every := max(limit/idleLooks, time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(every, func() { w.look(limit, every) })
	return ctx, w
}

func (w *idleTimer) look(limit, every time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	if n := w.pieces.Load(); n != w.seen || n%2 == 1 || n == 0 && w.later || time.Now().Before(w.pausedUntil) {
		w.seen, w.silentLooks = n, 0
	} else {
		w.silentLooks++
	}
	if w.silentLooks >= idleLooks {
		w.cancel(&llmclient.Error{Code: llmclient.CodeTimeout, Message: "nothing arrived for " + limit.String(), Err: context.DeadlineExceeded})
		return
	}
	w.timer.Reset(every)
}

// pause says that the client itself waits before it asks again, so nothing can arrive meanwhile.
func (w *idleTimer) pause(wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pausedUntil, w.silentLooks = time.Now().Add(wait), 0
}

func (w *idleTimer) stop() {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.timer.Stop()
	w.cancel(nil)
}
