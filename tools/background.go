package tools

import (
	"iter"
	"sync"
	"time"

	"github.com/segue-go/segue/messages"
)

// background runs calls on goroutines of their own. Run adds calls and takes reports; workers take
// calls and report.
//
// Most tools take less time than starting a goroutine does, so a worker runs one call after
// another. A worker that takes a call while more are queued wakes the next worker first, one at a
// time: if calls are short the first worker has run them all before the second begins; if they wait
// or take long, each soon has a worker of its own.
type background struct {
	runner *Runner
	epoch  time.Time // times here are counted from it

	// Run's own:
	running  int      // calls that are not settled
	settled  int      // calls[:settled] are
	read     []report // room for reports
	deadline alarm    // of the call that runs out of time next

	earliest time.Duration // when a call runs out of time next, or before, where that call is settled; 0: none does

	mu       sync.Mutex
	calls    []call // of the batch; never more than its first capacity: workers hold pointers into it
	next     int    // calls[next:] are queued
	observed bool   // somebody listens to progress
	idle     bool   // a worker waits for a token
	waking   bool   // a worker is about to look for a call
	closed   bool
	reported []report
	watchdog watchdog

	tokens  chan bool     // wakes the idle worker: to look for a call, or else to end
	reports chan struct{} // receives when something is reported
}

// report is what a worker tells Run.
type report struct {
	call     *call
	finished bool
	text     string // else, of the tool's progress
}

func newBackground(r *Runner) *background {
	return &background{runner: r, epoch: time.Now(), tokens: make(chan bool, 1), reports: make(chan struct{}, 1)}
}

func (g *background) now() time.Duration { return time.Since(g.epoch) }

// begin makes room for the calls of a batch. A call is never used twice: a tool may keep its
// context.
func (g *background) begin(calls int, observed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls, g.next, g.settled, g.observed, g.earliest = make([]call, 0, calls), 0, 0, observed, 0
	g.reported = g.reported[:0] // of calls that were abandoned
	g.watchdog.barked = false
}

// add queues a call, whose result goes to out. It starts with the next dispatch, or before.
func (g *background) add(t *task, b *batch, out *messages.ToolOutput) {
	g.running++
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = g.calls[:len(g.calls)+1]
	c := &g.calls[len(g.calls)-1]
	c.task, c.bg, c.parent, c.run, c.seq, c.ask, c.out, c.began = *t, g, b.ctx, b.Run, b.Seq, b.Ask, out, now
	if t.timeout > 0 {
		c.due = now + t.timeout
		g.sooner(c.due)
	}
	if now-g.calls[g.next].began > patience {
		g.wake()
	}
}

// patience is how long a call stays queued while Run adds others to it.
const patience = 20 * time.Microsecond

// dispatch sees to it that the queued calls are started.
func (g *background) dispatch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wake()
}

// wake has a worker look for a call, unless there is none or one is about to. The lock is held.
func (g *background) wake() {
	switch {
	case g.waking || g.next == len(g.calls):
		return
	case g.idle:
		g.idle = false
		g.tokens <- true // never waits: there is one token for the one idle worker
	default:
		go g.work()
	}
	g.waking = true
}

// work runs queued calls. One worker stays for more, until the watchdog finds it idle or the
// background is closed.
func (g *background) work() {
	growStack(0)
	var c *call
	defer func() {
		if c == nil {
			return
		}
		c.end() // the tool ended this goroutine
		g.finish(c, c.result(outcome{exited: true}, g.now()-c.began, ""))
		g.dispatch()
	}()
	for {
		var ended time.Duration
		for c = g.take(true); c != nil; c = g.take(false) {
			ended = g.perform(c, max(c.began, ended))
		}
		if !g.park() {
			return
		}
	}
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

// take takes a queued call; nil if there is none.
func (g *background) take(woken bool) *call {
	g.mu.Lock()
	defer g.mu.Unlock()
	if woken {
		g.waking = false
	}
	for g.next < len(g.calls) {
		c := &g.calls[g.next]
		g.next++
		if c.state == queued {
			c.state = running
			g.wake()
			return c
		}
	}
	return nil
}

// park waits for a token. It returns false if the worker is not needed any more.
func (g *background) park() bool {
	g.mu.Lock()
	stay := !g.idle && !g.closed
	g.idle = g.idle || stay
	g.mu.Unlock()
	if !stay {
		return false
	}
	return <-g.tokens
}

// dismiss ends the idle worker, if there is one. The lock is held.
func (g *background) dismiss() {
	if g.idle {
		g.idle = false
		g.tokens <- false
	}
}

// close ends the workers. Calls that are queued, as they are when Run is left in the middle, are
// not started.
func (g *background) close() {
	g.deadline.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watchdog.stop()
	g.next = len(g.calls)
	g.idle, g.closed = false, true
	close(g.tokens)
}

// perform runs a call, which begins now, and returns when it ended.
func (g *background) perform(c *call, began time.Duration) (ended time.Duration) {
	o := c.perform(c)
	ended = g.now()
	c.end()
	reason := ""
	switch {
	case o.panicked:
		g.runner.tell(c.call, o)
	case !o.failed:
	case c.timeout > 0 && ended >= c.began+c.timeout:
		reason = ReasonTimeout
	case c.interrupted():
		reason = messages.ReasonInterrupted
	}
	out := c.result(o, ended-began, reason)
	out.Attachments = c.attached // nobody adds any more
	g.finish(c, out)
	return ended
}

// finish reports the result of a call, unless it has been abandoned.
func (g *background) finish(c *call, out messages.ToolOutput) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.state == running {
		c.state, *c.out = finished, out
		g.report(report{call: c, finished: true})
	}
}

// progress reports what a tool says, unless nobody listens or Run is far behind.
func (g *background) progress(c *call, text string) {
	const most, unread = 4 << 10, 64
	text = validUTF8(shorten(text, most))
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.state == running && g.observed && len(g.reported) < unread {
		g.report(report{call: c, text: text})
	}
}

// report tells Run. The lock is held.
func (g *background) report(r report) {
	g.reported = append(g.reported, r)
	g.tell()
}

// tell makes Run look.
func (g *background) tell() {
	select {
	case g.reports <- struct{}{}:
	default: // it has been told
	}
}

// collect returns what was reported since the last collect. It is valid until the next.
func (g *background) collect() []report {
	clear(g.read)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read, g.reported = g.reported, g.read[:0]
	g.watchdog.waiting = false
	return g.read
}

// due returns a channel that receives when a call runs out of time, or before; nil if none ever
// does. It is asked whenever Run waits, so it looks at no call.
func (g *background) due() <-chan time.Time {
	if g.earliest == 0 {
		return nil
	}
	return g.deadline.at(g.earliest, g.now())
}

// sooner notes when a call runs out of time.
func (g *background) sooner(due time.Duration) {
	if g.earliest == 0 || due < g.earliest {
		g.earliest = due
	}
}

// later finds out anew when a call runs out of time.
func (g *background) later() {
	g.earliest = 0
	for c := range g.unsettled() {
		if c.due != 0 {
			g.sooner(c.due)
		}
	}
}

func (g *background) isRunning(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return c.state == running
}

// drop sees to it that nothing more is heard of a call, unless it has finished, and returns the
// state that it was in.
func (g *background) drop(c *call) callState {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := c.state
	if was != finished {
		c.state = dropped
	}
	return was
}

// unsettled yields the calls without a result, in order.
func (g *background) unsettled() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for g.settled < len(g.calls) && g.calls[g.settled].over {
			g.settled++
		}
		for i := g.settled; i < len(g.calls); i++ {
			if c := &g.calls[i]; !c.over && !yield(c) {
				return
			}
		}
	}
}
