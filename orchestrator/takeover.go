package orchestrator

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// takeover lets a run without a consumer of events, as in Run, perform a tool on the goroutine of
// the loop, even if the tool may hang. This saves a goroutine for each call: the loop has nothing
// to do while its only effect is in progress. If the tool takes long, or asks a question, another
// goroutine takes over the loop, and this one stays with the tool.
//
// The goroutine that called Run has to return even if a tool hangs. So at the first such tool the
// loop moves to another goroutine.
type takeover struct {
	done   chan struct{} // closed when the run is over; nil: the goroutine of Run still is the loop
	broken *brokenLoop   // why the loop ended before the run; nil: it did not

	mu        sync.Mutex
	execution *execution // the execution on the goroutine of the loop; nil: none, or another goroutine is the loop
	loops     int        // how often another goroutine took over the loop
	timer     *time.Timer
}

// takeoverAfter is how long a tool may take before another goroutine takes over the loop.
const takeoverAfter = time.Millisecond

// brokenLoop says why the goroutine of the loop ended before the run: by a panic, or by
// runtime.Goexit, which a client in a test may call.
type brokenLoop struct{ panicked *machine.PanicError }

// mayTakeOver reports whether a tool that may hang can be performed on the goroutine of the loop.
func (r *run) mayTakeOver(e *machine.Effect) bool {
	return !r.streams && e.Kind == machine.EffectTool && !r.o.wrapped && len(r.agents) == 0
}

// performWatched performs a tool on the goroutine of the loop. It returns roundTakenOver if another
// goroutine took over the loop.
func (r *run) performWatched(e *machine.Effect) round {
	x := r.newExecution(e)
	x.arm(x.beginCall(x, e))
	if r.takeover.done == nil {
		r.takeover.done = make(chan struct{})
		go r.runLoop(x, true)
		return roundTakenOver
	}
	return r.performAsLoop(x)
}

// runLoop continues the run on a goroutine that becomes the loop. If perform is true it performs
// the execution first; otherwise the previous goroutine of the loop does.
func (r *run) runLoop(x *execution, perform bool) {
	t := &r.takeover
	t.mu.Lock()
	loop := t.loops
	t.mu.Unlock()
	defer t.leave(loop)
	if !perform {
		r.add(x)
		r.timeCall(x)
	} else if r.performAsLoop(x) == roundTakenOver {
		return
	}
	if r.rounds() == roundOver {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.loops++
		close(t.done)
	}
}

// performAsLoop performs an effect on the goroutine of the loop, and applies its answer if this
// goroutine still is the loop.
func (r *run) performAsLoop(x *execution) round {
	r.takeover.begin(r, x)
	var answer nextstep.Answer
	var err error
	returned := false
	defer func() {
		if returned {
			return
		}
		answer, err = x.exited() // the tool ended this goroutine
		r.takeover.release(r, x)
		r.box.post(mail{execution: x, answer: answer, err: err})
	}()
	answer, err = x.handle(x)
	returned = true
	if !r.takeover.claim(x, false) {
		r.box.post(mail{execution: x, answer: answer, err: err})
		return roundTakenOver
	}
	r.now = time.Now()
	r.finish(x, answer, err)
	return roundAgain
}

// begin makes another goroutine take over the loop if an execution takes long.
func (t *takeover) begin(r *run, x *execution) {
	r.box.open()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.execution = x
	if t.timer != nil {
		t.timer.Reset(takeoverAfter)
		return
	}
	t.timer = time.AfterFunc(takeoverAfter, func() {
		t.mu.Lock()
		late := t.execution
		t.mu.Unlock()
		if late != nil && t.claim(late, true) {
			r.runLoop(late, false)
		}
	})
}

// claim tries to make the calling goroutine the loop, and reports whether it succeeded. The caller
// is the goroutine that performs the execution, or, if other is true, another one.
func (t *takeover) claim(x *execution, other bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.execution != x {
		return false
	}
	t.execution = nil
	if t.timer.Stop(); other {
		t.loops++
	}
	return true
}

// release makes another goroutine take over the loop, because an execution needs the loop.
func (t *takeover) release(r *run, x *execution) {
	if t.claim(x, true) {
		go r.runLoop(x, false)
	}
}

// leave is deferred on a goroutine that became the loop. If that goroutine ends while it still is
// the loop, the goroutine that called Run ends in the same way.
func (t *takeover) leave(loop int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loops != loop {
		return
	}
	t.broken = new(brokenLoop)
	if v := recover(); v != nil {
		t.broken.panicked = &machine.PanicError{Value: v, Stack: debug.Stack()}
	}
	close(t.done)
}

// wait waits until the run is over. If the goroutine of the loop ended early, it ends this
// goroutine in the same way.
func (t *takeover) wait() {
	<-t.done
	switch {
	case t.broken == nil:
	case t.broken.panicked != nil:
		panic(t.broken.panicked)
	default:
		runtime.Goexit()
	}
}
