package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/asktime"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// execution is one effect in progress. It is also the context of the Handler, so that functions
// called with that context can find it.
type execution struct {
	context.Context // the context of the run, or derived from it
	run             *run
	effect          machine.Effect // read-only
	tool            tools.Tool     // the tool of the call; nil: it is unknown, or the effect is not a call
	began           time.Time
	cancel          context.CancelCauseFunc // nil: only the end of the run ends the context
	alone           bool                    // the loop performs it on its own goroutine
	reads           bool                    // the frame may call ReadResultTool
	inClient        bool                    // the client performs it at the moment
	readUntrusted   atomic.Bool             // ReadResultTool has read a result from outside

	// Only the loop uses these:
	deadline time.Time // end of its time-out, then end of its grace period; zero: none
	cut      string    // why its context is done: the reason of a tool's result; "" if it is not done

	mu       sync.Mutex
	call     *toolrun.Running // the last call of the tool; nil: none
	waits    []machine.Wait   // waits that could not be answered in this process
	request  *request         // for a model
	sawDelta bool             // deltas of the reply were emitted
	ended    bool             // the effect is over: it emits no more events
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

// launch performs an effect on its own goroutine. A model call that is alone is performed on the
// goroutine of the loop, which has nothing else to do meanwhile.
func (r *run) launch(e *machine.Effect, alone bool) {
	alone = alone && r.mayPerform(e)
	x := r.newExecution(e, alone)
	r.add(x)
	if r.o.agentTimeouts { // an agent may be cut off alone
		x.Context, x.cancel = context.WithCancelCause(r.ctx)
	}
	if e.Kind == machine.EffectTool && !r.o.wrapped {
		x.arm(x.beginCall(x, &x.effect))
		r.timeCall(x)
	}
	if alone {
		x.performAlone()
		return
	}
	go x.execute()
}

// newExecution returns an execution of an effect. Those that the loop performs itself come one
// after another, and share one.
func (r *run) newExecution(e *machine.Effect, alone bool) *execution {
	var x *execution
	if alone {
		x = &r.byLoop
		*x = execution{alone: true, request: x.request}
	} else {
		x = new(execution)
	}
	x.Context, x.run, x.effect, x.began, x.replies = r.ctx, r, *e, r.now, e.Replies
	if e.Kind == machine.EffectTool {
		x.tool = r.o.toolOf(e)
		x.reads = r.o.keepsLarge() && r.m.Offers(e.Frame, ReadResultTool)
	}
	return x
}

func (r *run) add(x *execution) {
	if !x.alone {
		r.box.open()
	}
	if r.executions == nil {
		r.executions = map[machine.EffectID]*execution{}
	}
	r.executions[x.effect.ID] = x
}

// mayPerform reports whether the loop can perform an effect itself: a model call without
// middleware, in a run without notes, which are told when they come, and without time-outs of
// agents. A message or a stop that is posted meanwhile is applied before the answer, as always.
func (r *run) mayPerform(e *machine.Effect) bool {
	return e.Kind == machine.EffectModel && !r.o.wrapped && len(r.agents) == 0 && r.notes == nil
}

// execute performs the effect, and posts how it ended. A panic is an error.
func (x *execution) execute() {
	m := mail{execution: x}
	returned := false
	defer func() {
		switch v := recover(); {
		case v != nil && x.alone && x.run.consumer.yielding: // the consumer panicked, not the Handler
			panic(v)
		case v != nil:
			m.err = x.brokeDown(x.whose(), v, debug.Stack())
		case !returned: // the Handler ended the goroutine
			m.answer, m.err = x.exited()
		}
		x.run.box.post(m)
	}()
	if m.answer, m.err = x.handle(); m.err == nil {
		m.answer = x.keepLarge(x, m.answer)
	}
	returned = true
}

// performAlone performs the effect on the goroutine of the loop. If the client ends the goroutine,
// the effect has failed, and the run goes on to its end before the goroutine is gone.
func (x *execution) performAlone() {
	r := x.run
	r.alone = x
	returned := false
	defer func() {
		r.alone = nil
		if !returned && !r.consumer.yielding { // the consumer may end it as well
			r.now = time.Now()
			r.rounds()
		}
	}()
	x.execute()
	returned = true
}

// exited returns the answer of an effect whose Handler ended its goroutine.
func (x *execution) exited() (nextstep.Answer, error) {
	if c := x.running(); c != nil {
		return nextstep.ToolResult{Output: c.Exited()}, nil
	}
	return nil, delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: performing the %s effect %s ended its goroutine", x.effect.Kind, x.effect.ID))
}

// handle calls the Handler.
func (x *execution) handle() (nextstep.Answer, error) {
	switch {
	case x.run.o.wrapped:
		return x.callHandler()
	case x.alone:
		return x.perform(x.run.ctx, &x.effect)
	default:
		return x.perform(x, &x.effect)
	}
}

// callHandler calls the Handler with the middleware around it.
func (x *execution) callHandler() (nextstep.Answer, error) {
	return x.run.o.handler(tools.WithAsk(x, x.ask), x.effect)
}

// whose says whose code performs the effect at the moment, in which it may panic.
func (x *execution) whose() string {
	if x.inClient {
		return "the client"
	}
	return "a middleware"
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
func (x *execution) arm(c *toolrun.Running) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.call != nil && !x.effect.Safe() {
		return false
	}
	x.call = c
	return true
}

func (x *execution) running() *toolrun.Running {
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

// receive handles a mail.
func (r *run) receive(m *mail) {
	x := m.execution
	if m.ask != nil {
		r.now = time.Now()
		r.ask(m.ask)
		return
	}
	if r.executions[x.effect.ID] != x { // its effect is over, or was abandoned
		return
	}
	if m.event != nil {
		switch {
		case m.event.Kind != "":
			r.consumer.deliver(m.event)
		case r.ending == stopsNow: // a tool has begun
			r.grace(x)
		default:
			r.timeCall(x)
		}
		return
	}
	cut := x.Err() != nil
	r.remove(x) // remove ends its context
	switch r.now = time.Now(); {
	case r.discards:
	case x.effect.Kind == machine.EffectPerson:
		r.personReplied(x, m.reply, m.err, cut)
	default:
		r.finish(x, m.answer, m.err)
	}
}

// finish applies the result of an effect.
func (r *run) finish(x *execution, answer nextstep.Answer, err error) {
	if r.streams && err == nil {
		r.deliverWhole(x, answer)
	}
	elapsed := max(0, r.now.Sub(x.began)-x.asked.Sum())
	if err != nil {
		if waits(err) {
			r.suspend(x, err, elapsed)
			return
		}
		answer = r.failure(x.effect.Kind, err)
	}
	if r.leaving() && isCut(answer) {
		return // it is performed again when the run is resumed
	}
	r.answer(&x.effect, answer, elapsed)
}

// mailbox passes messages from the goroutines of a run to its loop.
type mailbox struct {
	ready chan struct{} // receives when there is new mail

	mu        sync.Mutex
	queue     []mail
	collected []mail        // room for the next queue
	events    int           // number of events in the queue
	room      chan struct{} // closed when the queue is collected; nil: no goroutine waits for that
	closed    bool
}

// mail is one message of a goroutine.
type mail struct {
	execution *execution      // the execution that it comes from
	answer    nextstep.Answer // answer of the effect; or err is set
	err       error
	event     *machine.Event // event to emit
	ask       *question      // question to ask a person
	reply     *machine.Reply // reply to the wait of a person's effect; or err is set
}

// refuse answers the question of the mail with the error that the effect is over.
func (m *mail) refuse() {
	if m.ask != nil {
		m.ask.answer <- answered{err: errOver}
	}
}

// open makes the mailbox ready. It is called before other goroutines use it.
func (b *mailbox) open() {
	if b.ready == nil {
		b.ready = make(chan struct{}, 1)
	}
}

// post adds a mail. It never blocks. After the run has ended it drops the mail and refuses its
// question.
func (b *mailbox) post(m mail) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		m.refuse()
		return
	}
	b.queue = append(b.queue, m)
	if m.event != nil {
		b.events++
	}
	b.mu.Unlock()
	b.signal()
}

// signal wakes the loop.
func (b *mailbox) signal() {
	select {
	case b.ready <- struct{}{}:
	default: // a signal is pending
	}
}

// unread is the number of events that may wait for a consumer. Above it, goroutines that produce
// events block, so that a slow consumer slows the run.
const unread = 256

// deliver is post for frequent events. It blocks while the consumer is far behind, until ctx is
// done.
func (b *mailbox) deliver(ctx context.Context, m mail) {
	b.mu.Lock()
	for b.events >= unread && !b.closed {
		if b.room == nil {
			b.room = make(chan struct{})
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return
		}
		b.mu.Lock()
	}
	b.mu.Unlock()
	b.post(m)
}

// try is post for an event that may be dropped if the consumer is far behind.
func (b *mailbox) try(m mail) {
	b.mu.Lock()
	full := b.events >= unread
	b.mu.Unlock()
	if !full {
		b.post(m)
	}
}

// collect returns the mail since the last collect. The slice is valid until the next collect.
func (b *mailbox) collect() []mail {
	clear(b.collected)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collected, b.queue, b.events = b.queue, b.collected[:0], 0
	b.makeRoom()
	return b.collected
}

func (b *mailbox) makeRoom() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// close closes the mailbox and refuses the questions in it.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.queue {
		b.queue[i].refuse()
	}
	b.closed, b.queue = true, nil
	b.makeRoom()
}

// timeCall sets the deadline of a tool call.
func (r *run) timeCall(x *execution) {
	if c := x.running(); c != nil && x.cut == "" {
		if at, ok := c.Due(); ok {
			x.deadline = at.Add(max(0, r.o.runner.Grace))
			r.lookAt(x.deadline)
		}
	}
}

// lookAt makes the loop check deadlines at the given time or earlier. It does not reset a timer
// that fires too early, because that does no harm.
func (r *run) lookAt(at time.Time) {
	r.box.open()
	switch {
	case r.timer == nil:
		r.timer = time.AfterFunc(time.Until(at), r.box.signal)
	case !r.nextLook.IsZero() && !at.Before(r.nextLook):
		return
	default:
		r.timer.Reset(time.Until(at))
	}
	r.nextLook = at
}

// overdue cancels or abandons executions, and stops agents, whose time is over.
func (r *run) overdue() {
	if r.ending == stopsNow {
		r.graceForAll()
	}
	if r.nextLook.IsZero() {
		return
	}
	now := time.Now()
	if now.Before(r.nextLook) {
		return
	}
	r.now, r.nextLook = now, time.Time{}
	for _, x := range r.dueBy(now) {
		if !r.extended(x) {
			r.abandon(x)
		}
	}
	r.stopLateAgents()
	for _, x := range r.executions {
		if !x.deadline.IsZero() {
			r.lookAt(x.deadline)
		}
	}
	for _, a := range r.agents {
		r.lookAt(a.at)
	}
}

// extended moves the deadline of a call whose tool has asked a person meanwhile: a person's time is
// not the tool's. It reports whether there is time left.
func (r *run) extended(x *execution) bool {
	const pause = 100 * time.Millisecond // between looks while the tool asks
	c := x.running()
	if c == nil || x.cut != "" {
		return false
	}
	at, ok := c.Due()
	if at = at.Add(max(0, r.o.runner.Grace)); !ok || !at.After(r.now) {
		return false
	}
	x.deadline = at
	if soon := r.now.Add(pause); at.Before(soon) {
		x.deadline = soon
	}
	return true
}

// dueBy returns the executions whose time is over at the given time, in the order of their effects.
func (r *run) dueBy(at time.Time) (due []*execution) {
	for _, x := range r.executions {
		if !x.deadline.IsZero() && !x.deadline.After(at) {
			due = append(due, x)
		}
	}
	slices.SortFunc(due, func(a, b *execution) int {
		x, y := a.effect.ID, b.effect.ID
		return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Index, y.Index), cmp.Compare(x.Wait, y.Wait))
	})
	return due
}

// graceForAll starts the grace period of all tools and questions whose context has ended.
func (r *run) graceForAll() {
	if r.graced {
		return
	}
	r.graced = true
	for _, x := range r.executions {
		r.grace(x)
	}
}

// grace starts the grace period of an execution whose context has ended. There is none for clients,
// remotes and middleware: the run waits until they return.
func (r *run) grace(x *execution) {
	if x.cut != "" {
		return
	}
	if x.effect.Kind != machine.EffectPerson && x.running() == nil {
		return
	}
	x.cut = messages.ReasonInterrupted
	r.now = time.Now()
	x.deadline = r.now.Add(max(0, r.o.runner.Grace))
	r.lookAt(x.deadline)
}

// abandon ends an execution that does not return.
func (r *run) abandon(x *execution) {
	x.deadline = time.Time{}
	if x.effect.Kind == machine.EffectPerson {
		r.remove(x)
		return
	}
	c := x.running()
	if c == nil {
		return
	}
	r.box.post(mail{execution: x, answer: nextstep.ToolResult{Output: c.Abandon(cmp.Or(x.cut, tools.ReasonTimeout))}})
}

// agentDeadline is the deadline of an agent.
type agentDeadline struct {
	frame string
	at    time.Time
	tool  string
	limit time.Duration
}

// timeAgent sets the deadline of an agent that begins, or that goes on with other code, and removes
// it when the agent ends.
func (r *run) timeAgent(e *machine.Event) {
	begins := func(frame, tool string) {
		if limit := r.o.agentTimeout(tool); limit > 0 {
			late := agentDeadline{frame: frame, at: r.now.Add(limit), tool: tool, limit: limit}
			r.agents = append(r.agents, late)
			r.lookAt(late.at)
		}
	}
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		if d.After == "" { // a successor has the time that is left
			begins(e.Frame, d.Tool)
		}
	case machine.RunMigrated:
		r.agents = nil
		for _, open := range d.Open {
			begins(open.Frame, open.Tool)
		}
	case machine.FrameLeft:
		if d.Handoff == "" {
			r.agents = slices.DeleteFunc(r.agents, func(a agentDeadline) bool { return a.frame == e.Frame })
		}
	}
}

// stopLateAgents stops agents whose time is over.
func (r *run) stopLateAgents() {
	for _, a := range slices.Clone(r.agents) {
		if a.at.After(r.now) {
			continue
		}
		r.agents = slices.DeleteFunc(r.agents, func(b agentDeadline) bool { return b.frame == a.frame })
		reason := "the agent " + a.tool + " took longer than " + a.limit.String()
		_ = r.apply(machine.Stopped{At: r.now, Reason: reason, Now: true, Frame: a.frame}) // it may have ended
	}
}

// agentTimeout returns the time-out of an agent, by the name of its tool; 0: none.
func (o *Orchestrator) agentTimeout(tool string) time.Duration {
	if tool == "" {
		return 0
	}
	t, ok := o.tools.Lookup(tool)
	if !ok || machine.AgentOf(t) == nil {
		return 0
	}
	return max(0, t.Definition().Timeout)
}
