package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Forgotten says what [Forget] has erased, and what it has not.
type Forgotten struct {
	Runs     []Key // erased: the run, then what was made from it
	Records  int   // that these had
	Messages int   // that were posted to these and not taken

	// Origins are the runs that the run was made from, the nearest first: they are still there, and
	// hold what the run has in common with them.
	Origins []Key

	// Beyond says in words what may hold the same and is beyond the reach of a store.
	Beyond []string
}

// beyondStores lists where the content of runs goes besides the store.
func beyondStores() []string {
	return []string{
		"exports and copies of the run in other files and stores",
		"backups, snapshots and replicas of the store's disk or database",
		"logs, traces and recordings of the program, if it was told to write content into them",
		"what the provider of the model keeps of requests and replies",
		"what tools and other services were given",
	}
}

// Forget erases a run with all that was made from it (forks, and runs that continued its
// conversation, and theirs), their records, heads and messages, and what the store has left of them
// (see [Pruner].Vacuum, which may take long). It returns what it erased, and what it cannot reach.
//
// Forget erases nothing as long as somebody works on one of the runs: the error wraps [ErrLeased]
// and names the run; stop it first. While it works it holds the leases of runs that have not ended,
// so nobody resumes them meanwhile. Runs that are made from one of them meanwhile are erased too,
// if they are begun before Forget returns. The error wraps [ErrNotFound] if there is neither the
// run nor anything made from it, so Forget may be called again after any other error.
//
// A run whose head is damaged is erased if it is the one that is asked for; one that was made from
// it stays, with what was made from that: the error names it, and wraps [ErrCorrupt]. The store
// must be a [Lister] and a [Pruner]; else the error says so.
func Forget(ctx context.Context, s Store, key Key) (Forgotten, error) {
	f := forgetting{store: s, writer: "forget " + rand.Text(), known: map[Key]bool{}, damaged: map[Key]error{}, result: Forgotten{Beyond: beyondStores()}}
	var ok bool
	if f.lister, ok = As[Lister](s); !ok {
		return f.result, lacking("Lister", "Forget")
	}
	if f.pruner, ok = As[Pruner](s); !ok {
		return f.result, lacking("Pruner", "Forget")
	}
	f.leaser, _ = As[Leaser](s)
	f.inbox, _ = As[Inbox](s)
	err := f.erase(ctx, key)
	return f.result, errors.Join(err, errors.Join(slices.Collect(maps.Values(f.damaged))...))
}

// forgetting is a Forget in progress.
type forgetting struct {
	store  Store
	lister Lister
	pruner Pruner
	leaser Leaser // nil: there is none
	inbox  Inbox  // nil: there is none
	writer string

	known map[Key]bool // found, and perhaps erased
	found []Head       // to be erased
	held  []Key        // whose lease was taken

	damaged map[Key]error // heads of runs made from this one that could not be read
	result  Forgotten
}

func (f *forgetting) erase(ctx context.Context, key Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	if err := f.begin(ctx, key); err != nil {
		return err
	}
	// What was made from the runs while they were deleted is found in the next round: a run that is
	// not there any more has no new forks.
	for tree := []Key{key}; len(f.found) > 0; {
		if err := f.hold(ctx); err != nil {
			f.release(ctx)
			return err
		}
		if err := f.delete(ctx); err != nil {
			return err
		}
		for _, h := range f.found {
			tree = append(tree, h.Key)
		}
		f.found = nil
		if err := f.follow(ctx, tree); err != nil {
			return err
		}
	}
	return f.pruner.Vacuum(ctx)
}

// begin finds the run, what it was made from, and what was made from it.
func (f *forgetting) begin(ctx context.Context, key Key) error {
	f.known[key] = true
	head, err := f.store.Head(ctx, key)
	switch {
	case err == nil:
		f.found = append(f.found, head)
		if err := f.origins(ctx, &head); err != nil {
			return err
		}
	case errors.Is(err, ErrCorrupt): // nobody can go on with it, nor say what it was made from
		f.found = append(f.found, Head{Key: key})
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := f.follow(ctx, []Key{key}); err != nil {
		return err
	}
	if len(f.found) == 0 {
		return &Error{Kind: ErrNotFound, Key: key}
	}
	return nil
}

// origins finds the runs that a run was made from.
func (f *forgetting) origins(ctx context.Context, h *Head) error {
	seen := map[Key]bool{h.Key: true}
	for at := *h; at.Header.Origin.Run != ""; {
		key := Key{Namespace: h.Key.Namespace, Run: at.Header.Origin.Run}
		if seen[key] {
			return nil
		}
		seen[key] = true
		head, err := f.store.Head(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if errors.Is(err, ErrCorrupt) {
			f.result.Origins = append(f.result.Origins, key)
			return nil
		}
		if err != nil {
			return err
		}
		f.result.Origins = append(f.result.Origins, key)
		at = head
	}
	return nil
}

// follow finds the runs that were made from some, and from these, and so on.
func (f *forgetting) follow(ctx context.Context, from []Key) error {
	for from = slices.Clone(from); len(from) > 0; from = from[1:] {
		delete(f.damaged, from[0])
		for q := (Query{Namespace: from[0].Namespace, Origin: from[0].Run, Limit: 1000}); ; {
			page, err := f.lister.List(ctx, q)
			switch {
			case errors.Is(err, ErrCorrupt):
				f.damaged[from[0]] = errors.Join(f.damaged[from[0]], err)
			case err != nil:
				return err
			}
			for _, h := range page.Heads {
				if !f.known[h.Key] {
					f.known[h.Key] = true
					f.found, from = append(f.found, h), append(from, h.Key)
				}
			}
			if q.After = page.Next; q.After.IsZero() {
				break
			}
		}
	}
	return nil
}

// hold takes the leases of the found runs that have not ended.
func (f *forgetting) hold(ctx context.Context) error {
	for i, h := range f.found {
		if f.leaser == nil || h.Header.Status.Ended() {
			continue
		}
		now, err := f.leaser.Lease(ctx, h.Key, f.writer, leaseOfPrune)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
			continue
		}
		if err != nil {
			return fmt.Errorf("checkpoint: nothing more is forgotten of run %.64q: %w", h.Key.String(), err)
		}
		f.found[i] = now
		f.held = append(f.held, h.Key)
	}
	return nil
}

// release gives back the leases that were taken. What fails runs out by itself.
func (f *forgetting) release(ctx context.Context) {
	for _, key := range f.held {
		_, _ = f.leaser.Lease(ctx, key, f.writer, 0)
	}
}

// delete erases the runs that were found. The run that was asked for is the last one, so that after
// an error Forget finds the others again.
func (f *forgetting) delete(ctx context.Context) error {
	for _, h := range slices.Backward(f.found) {
		messages := 0
		if f.inbox != nil {
			posted, err := f.inbox.Posted(ctx, h.Key)
			if err != nil && ctx.Err() != nil {
				return err
			}
			messages = len(posted)
		}
		if err := f.pruner.Delete(ctx, h.Key); err != nil {
			return err
		}
		f.result.Records += h.Last
		f.result.Messages += messages
	}
	for _, h := range f.found {
		f.result.Runs = append(f.result.Runs, h.Key)
	}
	return nil
}
