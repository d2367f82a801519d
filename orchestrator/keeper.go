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
	var all sync.WaitGroup
	all.Go(func() { k.collect(o, runs) })
	k.extend(&all, runs)
	all.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.armed = len(k.runs) > 0; k.armed {
		time.AfterFunc(k.every, func() { k.look(o) })
	}
}

// extend renews the leases that are due, several at once: one that takes long does not cost the
// others theirs.
func (k *keeper) extend(all *sync.WaitGroup, runs []*run) {
	const atOnce = 32
	places := make(chan struct{}, atOnce)
	for _, r := range runs {
		if !r.journal.lease.due() {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			r.extend(context.Background())
		})
	}
}

// collect brings runs the messages that were posted to them.
func (k *keeper) collect(o *Orchestrator, runs []*run) {
	if k.inbox == nil {
		return
	}
	for some := range slices.Chunk(runs, 500) {
		keys, of := make([]checkpoint.Key, len(some)), make(map[checkpoint.Key]*run, len(some))
		for i, r := range some {
			keys[i], of[r.journal.key] = r.journal.key, r
		}
		for _, m := range k.posted(o, keys) {
			if r := of[m.Key]; r != nil { // a run that was resumed since has read the inbox itself
				r.post(m)
			}
		}
	}
}

// posted returns the messages to runs that can be read.
func (k *keeper) posted(o *Orchestrator, keys []checkpoint.Key) (posted []checkpoint.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), k.every+time.Second)
	defer cancel()
	err := o.guard(ctx, "", "Posted", func() (err error) {
		posted, err = k.inbox.Posted(ctx, keys...)
		return err
	})
	if err != nil {
		o.log(ctx, slog.LevelWarn, "the inbox could not be read", slog.Int("runs", len(keys)))
	}
	return posted
}
