package tools

import "time"

// watchdog lets Run wait for reports alone, which costs a third of waiting for its context, a timer
// and Wake as well: it interrupts that wait within watchInterval, and Run waits for everything from
// then on. It goes off only that often, however many batches there are. If it finds that no batch
// waits, as when a model is asked meanwhile, it sends the idle worker home: then a run that waits
// for its model holds one goroutine.
type watchdog struct {
	timer   *time.Timer
	armed   bool
	waiting bool // Run waits for reports alone
	barked  bool // it shall not any more in this batch
}

const watchInterval = time.Millisecond

// watch is called before Run waits. It reports whether reports are all that Run need wait for.
func (g *background) watch() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &g.watchdog
	w.waiting = !w.barked
	if w.waiting {
		g.arm()
	}
	return w.waiting
}

// leave is called when a batch is over. It sees to it that an idle worker is found, though Run
// never had to wait.
func (g *background) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arm()
}

// arm has the watchdog go off, unless it will. The lock is held.
func (g *background) arm() {
	w := &g.watchdog
	switch {
	case w.armed:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(watchInterval, g.bark)
	default:
		w.timer.Reset(watchInterval)
	}
	w.armed = true
}

func (g *background) bark() {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &g.watchdog
	w.armed = false
	switch {
	case g.closed:
		return
	case !w.waiting:
		g.dismiss()
		return
	}
	w.barked, w.waiting = true, false
	g.tell()
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// alarm is a timer that is set as seldom as possible: one that goes off too early is as good.
type alarm struct {
	timer *time.Timer
	set   time.Duration // for when; 0 if it is not
}

// at returns a channel that receives at the time when, or before.
func (a *alarm) at(when, now time.Duration) <-chan time.Time {
	switch {
	case a.timer == nil:
		a.timer = time.NewTimer(when - now)
		a.set = when
	case a.set <= now || when < a.set:
		a.timer.Reset(when - now)
		a.set = when
	}
	return a.timer.C
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
