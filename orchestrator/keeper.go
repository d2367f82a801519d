package orchestrator

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// keeper renews the leases of the runs in progress, and brings them the messages that were posted
// to them. It uses a timer, and no goroutine of its own.
type keeper struct {
	every time.Duration // 0: the store has neither ability
	inbox checkpoint.Inbox

	mu    sync.Mutex
	runs  map[checkpoint.Key]*run
	armed bool
}

// add adds a run, and reports whether there was no run with the same key.
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

// remove removes a run that is no longer in progress.
func (k *keeper) remove(r *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.runs, r.journal.key)
}

// get returns the run in progress with that key; nil if there is none.
func (k *keeper) get(key checkpoint.Key) *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[key]
}

// look serves every run once, and sets the timer again if there are any.
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

// collect brings runs the messages that were posted to them.
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
			continue
		}
		for _, m := range posted {
			if r := k.get(m.Key); r != nil {
				r.post(m)
			}
		}
	}
}
