package orchestrator

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// keeper looks after the runs with a journal that are in progress: it extends their leases, and
// brings them what was posted to them. It has no goroutine while there is nothing to do.
type keeper struct {
	every time.Duration // 0: there is nothing to look for
	inbox checkpoint.Inbox

	mu    sync.Mutex
	runs  map[checkpoint.Key]*run
	armed bool
}

// add has a run looked after. It reports whether no other run of the same key is.
func (k *keeper) add(o *Orchestrator, r *run) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs[r.journal.key] != nil {
		return false
	}
	if k.runs == nil {
		k.runs = map[checkpoint.Key]*run{}
	}
	k.runs[r.journal.key] = r
	if k.every > 0 && !k.armed {
		k.armed = true
		time.AfterFunc(k.every, func() { k.look(o) })
	}
	return true
}

// remove says that a run is not in progress any more.
func (k *keeper) remove(r *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.runs, r.journal.key)
}

// get returns the run of a key that is in progress here; nil: none is.
func (k *keeper) get(key checkpoint.Key) *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[key]
}

// look looks after every run once, and again after a while as long as there are any.
func (k *keeper) look(o *Orchestrator) {
	k.mu.Lock()
	runs := make([]*run, 0, len(k.runs))
	for _, r := range k.runs {
		runs = append(runs, r)
	}
	k.mu.Unlock()
	for _, r := range runs {
		r.extend(context.Background())
	}
	k.collect(o, runs)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.armed = len(k.runs) > 0; k.armed {
		time.AfterFunc(k.every, func() { k.look(o) })
	}
}

// collect brings runs what was posted to them.
func (k *keeper) collect(o *Orchestrator, runs []*run) {
	if k.inbox == nil {
		return
	}
	for some := range slices.Chunk(runs, 500) {
		keys := make([]checkpoint.Key, len(some))
		for i, r := range some {
			keys[i] = r.journal.key
		}
		ctx, cancel := context.WithTimeout(context.Background(), k.every+time.Second)
		posted, err := k.inbox.Posted(ctx, keys...)
		cancel()
		if err != nil {
			o.log(ctx, slog.LevelWarn, "the inbox could not be read", slog.Int("runs", len(keys)))
		}
		for _, m := range posted {
			if r := k.get(m.Key); r != nil {
				r.post(m)
			}
		}
	}
}
