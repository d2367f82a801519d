package tools

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/messages"
)

// batch is one Run, as its goroutine sees it.
type batch struct {
	Batch
	session     *Session
	ctx         context.Context
	outputs     []messages.ToolOutput
	bg          *background // the session's, once this batch has calls there; nil before
	interrupted bool        // ctx is done, and was dealt with
}

// task is a call with what is known of its tool.
type task struct {
	call      messages.ToolCall
	index     int
	tool      Tool
	timeout   time.Duration // none if not positive
	maxResult int           // none if negative
	safe      bool          // cut off, it has had no effect or may run again
	untrusted bool
	pure      bool
}

// run runs call i, or starts it.
func (b *batch) run(i int) {
	t := task{call: b.Calls[i], index: i}
	def, refused := b.find(&t)
	if refused != nil {
		b.finish(i, *refused)
		return
	}
	inline := t.pure && len(t.call.Arguments) <= DefaultMaxArguments // parsing more than that takes a while
	switch {
	case def.Sequential:
		b.await(0)
	case !inline && b.session.runner.Parallel > 0:
		b.await(b.session.runner.Parallel - 1)
	}
	switch {
	case b.ctx.Err() != nil:
		b.finish(i, t.notStarted(messages.ReasonInterrupted))
	case inline:
		b.runInline(&t)
	default:
		b.start(&t)
	}
	if def.Sequential {
		b.await(0)
	}
}

// find looks up the tool of t and fills t in, or says why the call is refused. What a tool says of
// itself may panic.
func (b *batch) find(t *task) (def Definition, refused *messages.ToolOutput) {
	defer func() {
		if v := recover(); v != nil {
			o := outcome{panicked: true, value: v, stack: debug.Stack()}
			b.session.runner.tell(t.call, o)
			t.maxResult = b.session.runner.MaxResult
			out := t.result(o, 0, "")
			refused = &out
		}
	}()
	if b.Lookup != nil {
		if tool, ok := b.Lookup(t.call.Name); ok {
			t.tool = tool
		}
	}
	if t.tool == nil {
		return def, t.unknown(b.Names)
	}
	def = t.tool.Definition()
	t.timeout = withDefault(def.Timeout, b.session.runner.Timeout)
	t.maxResult = withDefault(def.MaxResult, b.session.runner.MaxResult)
	t.safe, t.untrusted, t.pure = def.ReadOnly || def.Idempotent, def.Untrusted, isPure(t.tool)
	if most := b.session.runner.MaxArguments; most > 0 && len(t.call.Arguments) > most {
		return def, t.tooLong(most)
	}
	return def, nil
}

func isPure(t Tool) bool {
	p, ok := t.(interface{ Pure() bool })
	return ok && p.Pure()
}

func (b *batch) runInline(t *task) {
	if b.bg != nil {
		b.bg.dispatch() // the others need not wait for this one
	}
	b.observe(Observation{Kind: Started, Index: t.index})
	began := b.session.now()
	o := t.perform(b.ctx)
	if o.panicked {
		b.session.runner.tell(t.call, o)
	}
	b.finish(t.index, t.result(o, b.session.now()-began, ""))
}

// start hands a call over to the background.
func (b *batch) start(t *task) {
	if b.bg == nil {
		if b.session.bg == nil {
			b.session.bg = newBackground(&b.session.runner)
		}
		b.bg = b.session.bg
		b.bg.begin(len(b.Calls)-t.index, b.Observe != nil)
	}
	if b.Observe != nil {
		b.bg.dispatch() // whoever observes may take long: calls that are queued need not wait for that
	}
	b.observe(Observation{Kind: Started, Index: t.index})
	b.bg.add(t, b, &b.outputs[t.index])
}

func (b *batch) finish(i int, out messages.ToolOutput) {
	b.outputs[i] = out
	if out.Reason == ReasonSuspended {
		return
	}
	b.observe(Observation{Kind: Finished, Index: i, Output: &b.outputs[i]})
}

func (b *batch) observe(o Observation) {
	if b.Observe != nil {
		o.Call = &b.Calls[o.Index]
		b.Observe(o)
	}
}

// await waits until at most that many calls are running in the background.
func (b *batch) await(most int) {
	if b.bg == nil || b.bg.running <= most {
		return
	}
	b.bg.dispatch()
	for b.drain(); b.bg.running > most; b.drain() {
		b.wait()
	}
}

// drain deals with what the background has reported.
func (b *batch) drain() {
	for _, e := range b.bg.collect() {
		if e.finished {
			b.settle(e.call, *e.call.out)
			continue
		}
		if !e.call.over {
			b.observe(Observation{Kind: Progressed, Index: e.call.index, Text: e.text})
		}
	}
}

// settle ends a call of the background.
func (b *batch) settle(c *call, out messages.ToolOutput) {
	c.over = true
	b.bg.running--
	b.finish(c.index, out)
}

// wait waits for one thing to happen, and deals with it unless it is a report.
func (b *batch) wait() {
	if b.bg.watch() {
		<-b.bg.reports
		return
	}
	done, wake := b.ctx.Done(), b.Wake
	if b.interrupted {
		done = nil
	}
	if b.OnWake == nil {
		wake = nil
	}
	select {
	case <-b.bg.reports:
	case <-done:
		b.interrupt()
	case <-b.bg.due():
		b.expire()
	case _, open := <-wake:
		if !open {
			b.Wake = nil
			return
		}
		b.OnWake()
	}
}

// expire deals with calls that have run out of time: first out of their own, then out of the grace.
func (b *batch) expire() {
	now := b.bg.now()
	for c := range b.bg.unsettled() {
		if c.due != 0 && c.due <= now {
			b.cut(c, now, ReasonTimeout)
		}
	}
	b.bg.later()
}

// interrupt deals with the end of the batch's context, which ends those of the calls.
func (b *batch) interrupt() {
	b.interrupted = true
	now := b.bg.now()
	for c := range b.bg.unsettled() {
		if c.cutOff == "" {
			b.cut(c, now, messages.ReasonInterrupted)
		}
	}
	b.bg.later()
}

// cut gives a call its grace, or abandons it if it has none left.
func (b *batch) cut(c *call, now time.Duration, reason string) {
	if c.cutOff == "" {
		c.cutOff = reason
		if b.session.runner.Grace > 0 && b.bg.isRunning(c) {
			c.due = now + b.session.runner.Grace
			return
		}
	}
	switch b.bg.drop(c) {
	case queued:
		b.settle(c, c.notStarted(c.cutOff))
	case running:
		b.settle(c, c.abandoned(c.cutOff, now-c.began))
	default: // it has finished after all: that is about to be reported
		c.due = 0
	}
}
