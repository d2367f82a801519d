package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/asktime"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// execution is one effect in progress, on the goroutine of the loop or on its own. It is also the
// context of the Handler, so that functions called with that context can find it.
type execution struct {
	context.Context // the context of the run, or derived from it
	run             *run
	inline          bool            // the execution of the workspace, on the goroutine of the loop
	effect          *machine.Effect // read-only; points to own if it has its own goroutine
	own             machine.Effect
	tool            tools.Tool // the tool of the call; nil: it is unknown, or the effect is not a call
	reads           bool       // the frame may call ReadResultTool
	toolInline      bool       // the tool neither waits nor needs a context
	began           time.Time
	cancel          context.CancelCauseFunc // nil: only the end of the run ends the context
	where           string                  // whose code performs the effect, if known

	readUntrusted atomic.Bool // ReadResultTool has read a result from outside

	// Only the loop uses these:
	deadline time.Time // end of its time-out, then end of its grace period; zero: none
	cut      string    // why its context is done: the reason of a tool's result; "" if it is not done

	mu       sync.Mutex
	call     *tools.Running // the running tool; nil: none
	calls    int            // number of tool calls
	waits    []machine.Wait // waits that could not be answered in this process
	request  *request       // for a model
	sawDelta bool           // deltas of the reply were emitted
	idle     *idleTimer     // timer of the request in progress; nil: none
	ended    bool           // the effect is over: it emits no more events
	replies  []machine.Exchange
	asked    asktime.Total // the time of people
}

type executionKey struct{}

// Value implements [context.Context].
func (x *execution) Value(key any) any {
	if key == (executionKey{}) {
		return x
	}
	return x.Context.Value(key)
}

// executionOf returns the execution of ctx; nil if there is none.
func executionOf(ctx context.Context) *execution {
	x, _ := ctx.Value(executionKey{}).(*execution)
	return x
}

// performInline performs an effect on the goroutine of the loop and applies its answer, if the loop
// has nothing else to do meanwhile: an inline tool does not wait, and a model may be the only
// effect. A remote may ask people, which needs the loop. It reports whether it did.
func (r *run) performInline(e *machine.Effect) bool {
	if r.o.wrapped || len(r.agents) > 0 || e.Kind == machine.EffectPerson || e.Kind == machine.EffectRemote {
		return false
	}
	x := r.inline
	if x.take(e); e.Kind == machine.EffectTool && !x.toolInline || e.Kind == machine.EffectModel && r.notes != nil {
		return false // a note shall be kept, and told, when it comes
	}
	x.began, x.sawDelta, x.call, x.calls = r.now, false, nil, 0
	answer, err := x.handle(r.ctx)
	r.now = time.Now()
	r.finish(x, answer, err)
	return true
}

// take makes e the effect of the execution.
func (x *execution) take(e *machine.Effect) {
	x.effect, x.tool, x.toolInline = e, nil, false
	if e.Kind == machine.EffectTool {
		x.tool, x.toolInline = x.run.o.toolOf(e)
		x.reads = x.run.o.keepsLarge() && x.run.m.Offers(e.Frame, ReadResultTool)
	}
}

// launch performs an effect on its own goroutine. An inline tool does not wait and needs no
// goroutine.
func (r *run) launch(e *machine.Effect) {
	r.box.open()
	x := r.newExecution(e)
	if r.o.agentTimeouts { // an agent may be cut off alone
		x.Context, x.cancel = context.WithCancelCause(r.ctx)
	}
	r.add(x)
	if e.Kind != machine.EffectTool || r.o.wrapped {
		go x.execute()
		return
	}
	if x.toolInline {
		answer, err := x.handle(x)
		r.now = time.Now()
		r.box.post(mail{execution: x, answer: answer, err: err})
		return
	}
	x.arm(x.beginCall(x, e))
	r.timeCall(x)
	go x.execute()
}

func (r *run) newExecution(e *machine.Effect) *execution {
	x := &execution{Context: r.ctx, run: r, own: *e, began: r.now, replies: e.Replies}
	x.take(&x.own)
	return x
}

func (r *run) add(x *execution) {
	if r.executions == nil {
		r.executions = map[machine.EffectID]*execution{}
	}
	r.executions[x.effect.ID] = x
}

// execute performs the effect on its goroutine, and posts how it ended.
func (x *execution) execute() {
	growStack(0)
	m := mail{execution: x}
	returned := false
	defer func() {
		if !returned { // the Handler ended the goroutine
			m.answer, m.err = x.exited()
		}
		x.run.box.post(m)
	}()
	m.answer, m.err = x.handle(x)
	returned = true
}

// growStack grows the stack of a new goroutine at once to the size that decoding JSON needs.
// Growing it twice while decoding costs three times as much, because there is more to copy. It
// returns frame[i] so that the compiler keeps the frame.
//
//go:noinline
func growStack(i int) byte {
	var frame [3 << 10]byte
	return frame[i]
}

// exited returns the answer of an effect whose Handler ended its goroutine.
func (x *execution) exited() (nextstep.Answer, error) {
	if c := x.running(); c != nil {
		return nextstep.ToolResult{Output: c.Exited()}, nil
	}
	return nil, delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing the %s effect %s ended its goroutine", x.effect.Kind, x.effect.ID))
}

// handle calls the Handler, and turns a panic into an error.
func (x *execution) handle(ctx context.Context) (answer nextstep.Answer, err error) {
	x.where = ""
	defer func() {
		if v := recover(); v != nil {
			if x.inline && x.run.consumer.yielding { // the consumer panicked, not the Handler
				panic(v)
			}
			err = x.brokeDown(cmp.Or(x.where, "a middleware"), v, debug.Stack())
		}
	}()
	if !x.run.o.wrapped {
		answer, err = x.perform(ctx, x.effect)
	} else {
		answer, err = x.run.o.handler(tools.WithAsk(ctx, x.ask), *x.effect)
	}
	if err == nil {
		answer = x.keepLarge(ctx, answer)
	}
	return answer, err
}

// brokeDown reports a panic of the code that performs the effect, and returns it as an error.
func (x *execution) brokeDown(where string, value any, stack []byte) error {
	x.panicked(where, value, stack)
	return &panicked{delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing the %s effect %s %w",
		x.effect.Kind, x.effect.ID, &machine.PanicError{Value: value, Stack: stack}))}
}

// panicked is the error of an effect whose Handler panicked. Even if the panic value wraps
// tools.ErrSuspended, the effect does not wait.
type panicked struct{ err *delegation.Error }

func (e *panicked) Error() string { return e.err.Error() }

func (e *panicked) Unwrap() error { return e.err }

// arm stores the tool that will run for the effect, and reports whether it may run: an unsafe call
// is made only once, even if several goroutines try at the same time.
func (x *execution) arm(c *tools.Running) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.calls > 0 && !x.effect.Safe() {
		return false
	}
	x.call = c
	x.calls++
	return true
}

func (x *execution) running() *tools.Running {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.call
}

func (r *run) remove(x *execution) {
	delete(r.executions, x.effect.ID)
	x.end()
	if x.cancel != nil {
		x.cancel(nil)
	}
}

// end marks the effect as over: it emits no more events.
func (x *execution) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
}

// withdraw cancels effects and questions.
func (r *run) withdraw(ids []machine.EffectID) {
	for _, id := range ids {
		x := r.executions[id]
		if x == nil {
			continue
		}
		if x.cancel != nil {
			x.cancel(errStop)
		}
		r.grace(x)
	}
}

// receive handles a mail, and reports whether a record was applied.
func (r *run) receive(m *mail) bool {
	switch {
	case m.event != nil:
		switch {
		case r.executions[m.execution.effect.ID] != m.execution: // its effect is over
		case m.event.Kind != "":
			r.consumer.deliver(m.event)
		case r.ending == stopsNow: // a tool has begun
			r.grace(m.execution)
		default:
			r.timeCall(m.execution)
		}
		return false
	case m.ask != nil:
		r.now = time.Now()
		return r.ask(m.ask)
	case r.executions[m.execution.effect.ID] != m.execution:
		return false // it was abandoned
	}
	cut := m.execution.Err() != nil
	r.remove(m.execution) // remove ends its context
	if r.discards {
		return false
	}
	r.now = time.Now()
	if m.execution.effect.Kind == machine.EffectPerson {
		return r.personReplied(m.execution, m.reply, m.err, cut)
	}
	return r.finish(m.execution, m.answer, m.err)
}

// finish applies the result of an effect, and reports whether it applied a record.
func (r *run) finish(x *execution, answer nextstep.Answer, err error) bool {
	if r.streams && err == nil {
		r.deliverWhole(x, answer)
	}
	if r.stopped() || r.hasNotes() {
		if x.effect != &x.own { // the effect in Ready is invalid after the next record
			x.own = *x.effect
			x.effect = &x.own
		}
		r.applyNotes()
		r.applyPosted()
	}
	if r.stopped() {
		r.applyStop()
	}
	e := x.effect
	elapsed := max(0, r.now.Sub(x.began)-x.asked.Sum())
	if err != nil {
		if _, broke := err.(*panicked); !broke && errors.Is(err, tools.ErrSuspended) { //nolint:errorlint // what the panic wraps does not count
			return r.suspend(x, err, elapsed)
		}
		answer = r.failure(e.Kind, err)
	}
	if r.leaving() && isCut(answer) {
		return false // it is performed again when the run is resumed
	}
	r.answer(e, answer, elapsed)
	return true
}
