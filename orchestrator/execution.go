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

// execution is one effect that is performed: on the goroutine of the loop, or on one of its own. It is
// the context that the Handler is given, so that what is called with that context finds it.
type execution struct {
	context.Context // of the run, or derived from it
	run             *run
	inline          bool            // it is that of the workspace, on the goroutine of the loop
	effect          *machine.Effect // read-only; of a goroutine of its own: own
	own             machine.Effect
	tool            tools.Tool // that the call names; nil: there is none, or the effect is no call
	pure            bool       // the tool neither waits nor needs a context
	began           time.Time
	cancel          context.CancelCauseFunc // nil: only the end of the run ends the context
	where           string                  // whose code performs the effect, where that is known

	// The loop's own:
	deadline time.Time // when its time is over, then when its grace is; zero: never
	cut      string    // why its context is done: the reason of a tool's result; "" while it is not

	mu      sync.Mutex
	call    *tools.Running // the tool that runs; nil: none does
	calls   int            // how often a tool was called
	waits   []Wait         // that nobody could be asked about in this process
	request *request       // of a model
	deltas  bool           // pieces of the reply were told
	idle    *idleTimer     // of the request in progress; nil: none
	ended   bool           // the effect is over: nobody hears of it any more
	replies []machine.Exchange
}

type executionKey struct{}

// Value implements [context.Context].
func (f *execution) Value(key any) any {
	if key == (executionKey{}) {
		return f
	}
	return f.Context.Value(key)
}

// executionOf returns the execution that ctx belongs to; nil outside of one.
func executionOf(ctx context.Context) *execution {
	f, _ := ctx.Value(executionKey{}).(*execution)
	return f
}

// performInline performs an effect on the goroutine of the loop, and applies its answer, where
// nobody has to look at anything meanwhile: a tool that is pure does not wait, and a model is asked
// as long as its client takes. It reports whether it did.
func (r *run) performInline(e *machine.Effect) bool {
	if r.o.wrapped || len(r.agents) > 0 || e.Kind == machine.EffectPerson {
		return false
	}
	f := r.inline
	if f.take(e); e.Kind == machine.EffectTool && !f.pure {
		return false
	}
	f.began, f.deltas, f.call, f.calls = r.now, false, nil, 0
	answer, err := f.handle(r.ctx)
	r.now = time.Now()
	r.finish(f, answer, err)
	return true
}

// take makes e the effect of the execution.
func (f *execution) take(e *machine.Effect) {
	f.effect, f.tool, f.pure = e, nil, false
	if e.Kind == machine.EffectTool {
		f.tool, f.pure = f.run.o.toolOf(e)
	}
}

// launch performs an effect on a goroutine of its own, unless one is at it.
func (r *run) launch(e *machine.Effect) {
	r.box.open()
	if f := r.executions[e.ID]; f != nil {
		r.giveReplies(f, e)
		return
	}
	f := r.newExecution(e)
	switch {
	case e.Kind == machine.EffectPerson:
		if r.o.reply == nil || r.given[e.Wait.ID] {
			return
		}
		f.Context, f.cancel = context.WithCancelCause(r.ctx)
	case r.o.agentTimeouts: // an agent may be cut off by itself
		f.Context, f.cancel = context.WithCancelCause(r.ctx)
	}
	if e.Kind == machine.EffectTool && !r.o.wrapped {
		if f.pure { // it does not wait
			answer, err := f.handle(f)
			r.now = time.Now()
			r.add(f)
			r.box.post(mail{execution: f, answer: answer, err: err})
			return
		}
		f.arm(f.beginCall(f, e))
		r.timeCall(f)
	}
	r.add(f)
	if e.Kind == machine.EffectPerson {
		go f.askPerson()
		return
	}
	go f.execute()
}

func (r *run) newExecution(e *machine.Effect) *execution {
	f := &execution{Context: r.ctx, run: r, own: *e, began: r.now, replies: e.Replies}
	f.take(&f.own)
	return f
}

func (r *run) add(f *execution) {
	if r.executions == nil {
		r.executions = map[machine.EffectID]*execution{}
	}
	r.executions[f.effect.ID] = f
}

// execute performs the effect on its goroutine, and posts how it ended.
func (f *execution) execute() {
	growStack(0)
	m := mail{execution: f}
	returned := false
	defer func() {
		if !returned { // whoever performed it ended the goroutine
			m.answer, m.err = f.exited()
		}
		f.run.box.post(m)
	}()
	m.answer, m.err = f.handle(f)
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
func (f *execution) exited() (nextstep.Answer, error) {
	if c := f.running(); c != nil {
		return nextstep.ToolResult{Output: c.Exited()}, nil
	}
	return nil, delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing the %s effect %s ended its goroutine", f.effect.Kind, f.effect.ID))
}

// handle calls the Handler, and turns a panic into an error.
func (f *execution) handle(ctx context.Context) (answer nextstep.Answer, err error) {
	f.where = ""
	defer func() {
		if v := recover(); v != nil {
			if f.inline && f.run.consumer.yielding { // it is the consumer's, not the Handler's
				panic(v)
			}
			p := &PanicError{Value: v, Stack: debug.Stack()}
			f.panicked(cmp.Or(f.where, "a middleware"), v, p.Stack)
			err = &panicked{delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing the %s effect %s %w", f.effect.Kind, f.effect.ID, p))}
		}
	}()
	if !f.run.o.wrapped {
		return f.perform(ctx, f.effect)
	}
	return f.run.o.handler(tools.WithAsk(ctx, f.ask), *f.effect)
}

// panicked is the error of an effect whose Handler panicked: whatever its value wraps, the effect
// waits for nobody.
type panicked struct{ err *delegation.Error }

func (e *panicked) Error() string { return e.err.Error() }

func (e *panicked) Unwrap() error { return e.err }

// arm notes the tool that runs for the effect.
func (f *execution) arm(c *tools.Running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call = c
	f.calls++
}

func (f *execution) running() *tools.Running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.call
}

func (r *run) remove(f *execution) {
	delete(r.executions, f.effect.ID)
	f.end()
	if f.cancel != nil {
		f.cancel(nil)
	}
}

// end says that the effect is over: nothing is heard of it any more.
func (f *execution) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

// withdraw cuts effects off, and questions.
func (r *run) withdraw(ids []machine.EffectID) {
	for _, id := range ids {
		f := r.executions[id]
		if f == nil {
			continue
		}
		if f.cancel != nil {
			f.cancel(errStop)
		}
		r.grace(f)
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
	if r.dropped {
		return false
	}
	r.now = time.Now()
	if m.execution.effect.Kind == machine.EffectPerson {
		return r.replied(m.execution, m.reply, m.err, cut)
	}
	return r.finish(m.execution, m.answer, m.err)
}

// finish applies how an effect ended, and reports whether that is a record.
func (r *run) finish(f *execution, answer nextstep.Answer, err error) bool {
	if r.streams && err == nil {
		r.deliverWhole(f, answer)
	}
	if r.stopped() {
		if f.effect != &f.own { // Ready's is gone with the next record
			f.own = *f.effect
			f.effect = &f.own
		}
		r.applyStop()
	}
	e := f.effect
	elapsed := r.now.Sub(f.began)
	if err != nil {
		if _, broke := err.(*panicked); !broke && errors.Is(err, ErrSuspended) { //nolint:errorlint // what the panic wraps does not count
			return r.suspend(f, err, elapsed)
		}
		answer = r.failure(e.Kind, err)
	}
	if r.consumer.gone && isCut(answer) {
		return false // it is done again when the run is resumed
	}
	r.answer(e, answer, elapsed)
	return true
}
