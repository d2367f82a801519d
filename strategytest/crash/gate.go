package crash

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/segue-go/segue/machine"
)

// gates hold what a process does at the same time: effects, and people who are asked. Each waits to
// begin and, when it is done, to be heard of; one after the other may go on, once the process has
// come to rest: those that begin first, so that as much as possible is under way when the process
// is killed. So a run takes the same course each time.
type gates struct {
	news   chan struct{} // receives when somebody waits
	killed chan struct{} // closed when the process is killed, or has ended
	once   sync.Once

	mu      sync.Mutex
	waiting []*gate
}

type gate struct {
	frame  []string // in the first run, where one frame works after the other
	ends   bool
	effect machine.EffectID
	asked  string // of people: about which call
	passed chan struct{}
}

func newGates() *gates {
	return &gates{news: make(chan struct{}, 1), killed: make(chan struct{})}
}

// wait waits until it is the turn, and reports whether the process still lives.
func (g *gates) wait(own gate) bool {
	own.passed = make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, &own)
	g.mu.Unlock()
	select {
	case g.news <- struct{}{}:
	default:
	}
	select {
	case <-own.passed:
		return true
	case <-g.killed:
		return false
	}
}

// close lets everybody go who waits.
func (g *gates) close() { g.once.Do(func() { close(g.killed) }) }

// next lets one go on, and reports whether one waited.
func (g *gates) next() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return false
	}
	first := slices.MinFunc(g.waiting, (*gate).compare)
	g.waiting = slices.DeleteFunc(g.waiting, func(one *gate) bool { return one == first })
	close(first.passed)
	return true
}

// compare says which of two goes on first.
func (g *gate) compare(other *gate) int {
	if c := slices.CompareFunc(g.frame, other.frame, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // they are numbers
	}); c != 0 {
		return c
	}
	if g.ends != other.ends {
		if other.ends {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(g.effect.Seq, other.effect.Seq), cmp.Compare(g.effect.Index, other.effect.Index), cmp.Compare(g.asked, other.asked))
}

// patience is how long nothing at all may happen, by the clock of the bubble.
const patience = 30 * 24 * time.Hour

// open lets one after the other go on, until one of two channels is closed. It returns false if
// nothing happens any more.
func (g *gates) open(done, frozen <-chan struct{}) bool {
	for {
		synctest.Wait()
		select {
		case <-done:
			return true
		case <-frozen:
			return true
		default:
		}
		if g.next() {
			continue
		}
		timer := time.NewTimer(patience)
		select {
		case <-done:
		case <-frozen:
		case <-g.news:
		case <-timer.C:
			return false
		}
		timer.Stop()
	}
}
