package orchestrator

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// lent is how a run without a consumer, as Run makes it, performs a tool that may hang on the
// goroutine of the loop, which saves handing the call to another one: while its only effect is
// performed a run is at rest. Where the tool takes long, or asks something, another goroutine
// becomes the loop, and this one is that of the tool.
//
// The goroutine that called Run is never lent: it has to return although a tool does not. So with
// the first such tool the loop moves to a goroutine of its own.
type lent struct {
	away bool          // the loop has left the goroutine of Run
	done chan struct{} // closed when the run is over
	cut  *cutLoop      // how the loop ended before the run did; nil: it did not

	mu     sync.Mutex
	flight *flight // what is performed on the goroutine of the loop; nil: nothing is, or the loop is elsewhere
	turn   int     // how often another goroutine became the loop
	calls  int     // how many were so far
	seen   int     // the same, when the watch looked last
	timer  *time.Timer
	armed  bool
}

// lentFor is how long a tool may take before another goroutine becomes the loop, about.
const lentFor = time.Millisecond

// lends reports whether a tool is performed on the goroutine of the loop although it may hang.
func (r *run) lends(e *machine.Effect) bool {
	return !r.streams && e.Kind == machine.EffectTool && !r.o.wrapped && len(r.agents) == 0
}

// lend performs a tool on the goroutine of the loop. It returns left if that is not the loop's any
// more.
func (r *run) lend(e *machine.Effect) round {
	f := r.newFlight(e)
	f.arm(f.beginCall(f, e))
	if !r.lent.away {
		r.lent.away, r.lent.done = true, make(chan struct{})
		go r.goOnFrom(f)
		return left
	}
	return r.performLent(f)
}

// growLoopStack is growStack for a goroutine that becomes the loop.
//
//go:noinline
func growLoopStack(i int) byte {
	var frame [12 << 10]byte
	return frame[i]
}

// goOnFrom performs a lent effect and goes on with the run, on a goroutine that becomes the loop.
func (r *run) goOnFrom(f *flight) {
	growLoopStack(0)
	defer r.lent.leave(r.lent.now())
	if r.performLent(f) == left || r.rounds() == left {
		return
	}
	r.lent.over()
}

// performLent performs a lent effect, and applies its answer if this goroutine is the loop still.
func (r *run) performLent(f *flight) round {
	r.lent.begin(r, f)
	var answer nextstep.Answer
	var err error
	returned := false
	defer func() {
		if returned {
			return
		}
		answer, err = f.exited() // the tool ended this goroutine
		r.lent.release(r, f)
		r.box.post(mail{flight: f, answer: answer, err: err})
	}()
	answer, err = f.handle(f)
	returned = true
	if !r.lent.end(f) {
		r.box.post(mail{flight: f, answer: answer, err: err})
		return left
	}
	r.now = time.Now()
	r.land(f, answer, err)
	return again
}

// takeOver goes on with the run on this goroutine; that on which the effect is performed is not the
// loop's any more.
func (r *run) takeOver(f *flight) {
	defer r.lent.leave(r.lent.now())
	r.add(f)
	r.watchCall(f)
	if r.rounds() != left {
		r.lent.over()
	}
}

// begin lends the goroutine of the loop to a flight.
func (l *lent) begin(r *run, f *flight) {
	r.box.open()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flight = f
	l.calls++
	switch {
	case l.armed:
		return
	case l.timer == nil:
		l.timer = time.AfterFunc(lentFor, func() { l.look(r) })
	default:
		l.timer.Reset(lentFor)
	}
	l.armed = true
}

// look has another goroutine become the loop if the flight of last time is still performed. It goes
// off only that often, however many tools there are.
func (l *lent) look(r *run) {
	l.mu.Lock()
	f := l.flight
	switch {
	case f == nil:
		l.armed = false
	case l.seen != l.calls:
		l.seen = l.calls
		l.timer.Reset(lentFor)
		f = nil
	default:
		l.flight, l.armed = nil, false
		l.turn++
	}
	l.mu.Unlock()
	if f != nil {
		r.takeOver(f)
	}
}

// end reports whether the goroutine is still the loop's. Then nobody takes it over.
func (l *lent) end(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != f {
		return false
	}
	l.flight = nil
	return true
}

// release has another goroutine become the loop, since the flight wants something of the loop.
func (l *lent) release(r *run, f *flight) {
	l.mu.Lock()
	lent := l.flight == f
	if lent {
		l.flight = nil
		l.turn++
	}
	l.mu.Unlock()
	if lent {
		go r.takeOver(f)
	}
}

func (l *lent) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// cutLoop is how the goroutine of the loop ended before the run did: by a panic, or else by
// runtime.Goexit, as a client may call it that fails a test.
type cutLoop struct{ panicked *PanicError }

// now returns the turn of the goroutine that is the loop.
func (l *lent) now() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turn
}

// over says that the run is over.
func (l *lent) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	close(l.done)
}

// leave is deferred on a goroutine that became the loop, with its turn. If the goroutine ends while
// that is its turn still, whoever called Run goes on the same way.
func (l *lent) leave(turn int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != turn {
		return
	}
	l.cut = new(cutLoop)
	if v := recover(); v != nil {
		l.cut.panicked = &PanicError{Value: v, Stack: debug.Stack()}
	}
	close(l.done)
}

// wait waits until the run is over. It ends this goroutine as that of the loop ended.
func (l *lent) wait() {
	<-l.done
	switch {
	case l.cut == nil:
	case l.cut.panicked != nil:
		panic(l.cut.panicked)
	default:
		runtime.Goexit()
	}
}
