package orchestrator

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// followers are those who follow runs in this process.
type followers struct {
	some atomic.Int64 // how many there are

	mu sync.Mutex
	of map[checkpoint.Key][]*follower
}

// follower hears that there is something new in a journal, and what is kept nowhere.
type follower struct {
	ready chan struct{} // holds something if there is something to look at

	mu      sync.Mutex
	passing []machine.Event
	lost    bool // it has not heard all that was told of the steps in progress
}

// mostPassing bounds what is kept for a follower that does not take it. What is told behind it is
// lost to that follower, but for snapshots of the steps in progress.
const mostPassing = 1024

// add returns a new follower of a run.
func (s *followers) add(key checkpoint.Key) *follower {
	f := &follower{ready: make(chan struct{}, 1), lost: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[checkpoint.Key][]*follower{}
	}
	s.of[key] = append(s.of[key], f)
	s.some.Add(1)
	return f
}

func (s *followers) remove(key checkpoint.Key, f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.some.Add(-1)
	left := slices.DeleteFunc(s.of[key], func(other *follower) bool { return other == f })
	if s.of[key] = left; len(left) == 0 {
		delete(s.of, key)
	}
}

// each calls do for those who follow a run.
func (s *followers) each(key checkpoint.Key, do func(*follower)) {
	if s.some.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.of[key] {
		do(f)
	}
}

// stored says that the journal of a run is longer now.
func (s *followers) stored(key checkpoint.Key) { s.each(key, (*follower).signal) }

// told hands on an event that is kept nowhere.
func (s *followers) told(key checkpoint.Key, e *machine.Event) {
	s.each(key, func(f *follower) { f.add(e) })
}

func (f *follower) add(e *machine.Event) {
	f.mu.Lock()
	if f.lost = f.lost || len(f.passing) >= mostPassing; !f.lost {
		f.passing = append(f.passing, *e)
	}
	f.mu.Unlock()
	f.signal()
}

func (f *follower) signal() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// take returns what was told since the last take and, to a follower that has lost some of it, the
// snapshots of the steps in progress.
func (o *Orchestrator) take(key checkpoint.Key, f *follower) []machine.Event {
	r := o.keeper.get(key)
	if r != nil {
		r.progress.mu.Lock() // so that nothing is told between the snapshots and what follows them
		defer r.progress.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	passing := f.passing
	if f.passing = nil; f.lost && r != nil {
		for _, s := range r.progress.frames {
			passing = append(passing, snapshotOf(s.event, s.snapshot()))
		}
	}
	f.lost = f.lost && r == nil && o.keeper.get(key) != nil // a run that has just begun
	return passing
}
