package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// execution is one effect that is performed: on the goroutine of the loop, or on one of its own. It
// is the context that the Handler is given, so that what is called with that context finds it.
type execution struct {
	context.Context // of the run, or derived from it
	run             *run
	inline          bool            // it is that of the workspace, on the goroutine of the loop
	effect          *machine.Effect // read-only; of a goroutine of its own: own
	own             machine.Effect
	tool            tools.Tool // that the call names; nil: there is none, or the effect is no call
	toolInline      bool       // the tool neither waits nor needs a context
	began           time.Time
	cancel          context.CancelCauseFunc // nil: only the end of the run ends the context
	where           string                  // whose code performs the effect, where that is known

	// The loop's own:
	deadline time.Time // when its time is over, then when its grace is; zero: never
	cut      string    // why its context is done: the reason of a tool's result; "" while it is not

	mu       sync.Mutex
	call     *tools.Running // the tool that runs; nil: none does
	calls    int            // how often a tool was called
	waits    []Wait         // that nobody could be asked about in this process
	request  *request       // of a model
	sawDelta bool           // pieces of the reply were told
	idle     *idleTimer     // of the request in progress; nil: none
	ended    bool           // the effect is over: nobody hears of it any more
	replies  []machine.Exchange
}

type executionKey struct{}

// Value implements [context.Context].
func (x *execution) Value(key any) any {
	if key == (executionKey{}) {
		return x
	}
	return x.Context.Value(key)
}

// executionOf returns the execution that ctx belongs to; nil outside of one.
func executionOf(ctx context.Context) *execution {
	x, _ := ctx.Value(executionKey{}).(*execution)
	return x
}

// performInline performs an effect on the goroutine of the loop, and applies its answer, where
// nobody has to look at anything meanwhile: a tool that is inline does not wait, and a model is
// asked as long as its client takes. It reports whether it did.
func (r *run) performInline(e *machine.Effect) bool {
	if r.o.wrapped || len(r.agents) > 0 || e.Kind == machine.EffectPerson {
		return false
	}
	x := r.inline
	if x.take(e); e.Kind == machine.EffectTool && !x.toolInline {
		return false
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
	}
}

// launch performs an effect on a goroutine of its own. A tool that is inline does not wait, and
// needs none.
func (r *run) launch(e *machine.Effect) {
	r.box.open()
	x := r.newExecution(e)
	if r.o.agentTimeouts { // an agent may be cut off by itself
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
		if !returned { // whoever performed it ended the goroutine
			m.answer, m.err = x.exited()
		}
		x.run.box.post(m)
	}()
	m.answer, m.err = x.handle(x)
	returned = true
}

// growStack makes the stack of a new goroutine as large as decoding JSON takes, at once: growing
// twice in the midst of it costs three times as much, for there is more to copy and to adjust. It
// returns frame[i] so that there is a frame.
//
//go:noinline
func growStack(i int) byte {
	var frame [3 << 10]byte
	return frame[i]
}

// exited is the answer of an effect whose goroutine was ended by whoever performed it.
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
			if x.inline && x.run.consumer.yielding { // it is the consumer's, not the Handler's
				panic(v)
			}
			p := &PanicError{Value: v, Stack: debug.Stack()}
			x.panicked(cmp.Or(x.where, "a middleware"), v, p.Stack)
			err = &panicked{delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing the %s effect %s %w", x.effect.Kind, x.effect.ID, p))}
		}
	}()
	if !x.run.o.wrapped {
		return x.perform(ctx, x.effect)
	}
	return x.run.o.handler(tools.WithAsk(ctx, x.ask), *x.effect)
}

// panicked is the error of an effect whose Handler panicked: whatever its value wraps, the effect
// waits for nobody.
type panicked struct{ err *delegation.Error }

func (e *panicked) Error() string { return e.err.Error() }

func (e *panicked) Unwrap() error { return e.err }

// arm notes the tool that is to run for the effect, and reports whether it may: a call that is not
// safe to be made again is made once, however many ask for it at the same time.
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

// end says that the effect is over: nothing is heard of it any more.
func (x *execution) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
}

// withdraw cuts effects off, and questions.
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

// receive deals with a mail, and reports whether a record was applied.
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
	r.remove(m.execution) // which ends its context
	if r.discards {
		return false
	}
	r.now = time.Now()
	if m.execution.effect.Kind == machine.EffectPerson {
		return r.personReplied(m.execution, m.reply, m.err, cut)
	}
	return r.finish(m.execution, m.answer, m.err)
}

// finish applies how an effect ended, and reports whether that is a record.
func (r *run) finish(x *execution, answer nextstep.Answer, err error) bool {
	if r.streams && err == nil {
		r.deliverWhole(x, answer)
	}
	if r.stopped() {
		if x.effect != &x.own { // Ready's is gone with the next record
			x.own = *x.effect
			x.effect = &x.own
		}
		r.applyStop()
	}
	e := x.effect
	elapsed := r.now.Sub(x.began)
	if err != nil {
		if _, broke := err.(*panicked); !broke && errors.Is(err, ErrSuspended) { //nolint:errorlint // what the panic wraps does not count
			return r.suspend(x, err, elapsed)
		}
		answer = r.failure(e.Kind, err)
	}
	if r.leaving() && isCut(answer) {
		return false // it is done again when the run is resumed
	}
	r.answer(e, answer, elapsed)
	return true
}
