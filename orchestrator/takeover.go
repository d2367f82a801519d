package orchestrator

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// takeover is how a run without a consumer, as Run makes it, performs a tool that may hang on the
// goroutine of the loop, which saves a goroutine for the call: while its only effect is performed a
// run is at rest. Where the tool takes long, or asks something, another goroutine takes the loop
// over, and this one is left to the tool.
//
// The goroutine that called Run has to return although a tool does not. So with the first such tool
// the loop moves to a goroutine of its own.
type takeover struct {
	done   chan struct{} // closed when the run is over; nil: the goroutine of Run is the loop
	broken *brokenLoop   // how the loop ended before the run did; nil: it did not

	mu        sync.Mutex
	execution *execution // what is performed on the goroutine of the loop; nil: nothing is, or the loop is elsewhere
	loops     int        // how often another goroutine became the loop
	timer     *time.Timer
}

// takeoverAfter is how long a tool may take before another goroutine becomes the loop.
const takeoverAfter = time.Millisecond

// brokenLoop is how the goroutine of the loop ended before the run did: by a panic, or else by
// runtime.Goexit, as a client may call it that fails a test.
type brokenLoop struct{ panicked *PanicError }

// mayTakeOver reports whether a tool is performed on the goroutine of the loop although it may
// hang.
func (r *run) mayTakeOver(e *machine.Effect) bool {
	return !r.streams && e.Kind == machine.EffectTool && !r.o.wrapped && len(r.agents) == 0
}

// performWatched performs a tool on the goroutine of the loop. It returns roundTakenOver if another
// goroutine is the loop then.
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

// runLoop goes on with the run on a goroutine that becomes the loop. The execution is performed
// first, or by the goroutine that was the loop before.
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
// goroutine is the loop still.
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

// begin has another goroutine become the loop if an execution takes long.
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

// claim ends the watch of an execution, and reports whether it was still watched: then the caller
// is the loop, be it the goroutine that performs the execution or another.
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

// release has another goroutine become the loop, since an execution wants something of the loop.
func (t *takeover) release(r *run, x *execution) {
	if t.claim(x, true) {
		go r.runLoop(x, false)
	}
}

// leave is deferred on a goroutine that became the loop. If the goroutine ends while it is the loop
// still, whoever called Run goes on the same way.
func (t *takeover) leave(loop int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loops != loop {
		return
	}
	t.broken = new(brokenLoop)
	if v := recover(); v != nil {
		t.broken.panicked = &PanicError{Value: v, Stack: debug.Stack()}
	}
	close(t.done)
}

// wait waits until the run is over. It ends this goroutine as that of the loop ended.
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
