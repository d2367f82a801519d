package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Retention says which runs [Prune] deletes. A zero field deletes nothing; the zero value deletes
// no run at all.
type Retention struct {
	Namespace string            // the runs of this one, unless All
	All       bool              // of every namespace
	Labels    map[string]string // only runs with each of these

	// Each of these deletes runs to which nothing was appended for longer than it says.
	Ended     time.Duration // runs that have ended
	Waiting   time.Duration // runs that wait; counted from Header.Due, if that is later
	Parked    time.Duration // runs that are parked
	Abandoned time.Duration // runs with the status running that nobody works on

	// Newest is how many runs that have ended stay in each group, those that were created last.
	// Older ones are deleted, whatever Ended says. 0: all of them stay.
	Newest int
	// By is the label whose values form the groups of Newest, in each namespace. "": each namespace
	// is one group.
	By string

	// Keep reports, for a run that would be deleted, that it stays. It sees each run once, so one
	// that always returns true makes a dry run. Nil keeps none.
	Keep func(Head) bool
}

// lacking says which ability, by the name of its interface, a store lacks that something needs.
func lacking(ability, user string) error {
	return fmt.Errorf("checkpoint: the store is no %s: %s needs one", ability, user)
}

// Prune deletes the runs of a store that a [Retention] says, and returns how many. It lists runs in
// pages. After an error it has deleted some of them; it may be called again, and by several
// processes at once. [Pruner].Vacuum gives up what the store has left of them.
//
// A run whose head is damaged is not deleted, and keeps no other from being deleted: the error
// names it, and wraps ErrCorrupt. [Forget] erases it.
//
// Prune deletes no run that somebody works on: not one with a lease that has not run out, nor one
// with messages that nobody has taken. It takes the lease of a run that has not ended before it
// deletes the run, so whoever resumes the run at the same time either goes on with it, and it
// stays, or is told that somebody else holds it, and then that it does not exist.
//
// A process whose orchestrator has a negative Config.Lease takes no leases, so nobody can tell
// which runs it works on: Waiting, Parked and Abandoned may delete a run at work, whose next append
// then fails. Of its store prune only runs that have ended: by Ended and Newest.
//
// Times are compared with the clock of this process. The store must be a [Lister], a [Pruner] and,
// unless only Ended and Newest are set, a [Leaser]; else the error says so.
func Prune(ctx context.Context, s Store, r Retention) (int, error) {
	p, err := newPruning(s, &r)
	if err != nil {
		return 0, err
	}
	if r.Ended > 0 || r.Newest > 0 {
		err = p.ended(ctx)
	}
	for status, age := range map[Status]time.Duration{StatusWaiting: r.Waiting, StatusParked: r.Parked, StatusRunning: r.Abandoned, "": r.Abandoned} {
		if age > 0 && err == nil {
			err = p.open(ctx, status, age)
		}
	}
	return p.deleted, errors.Join(append(p.damaged, err)...)
}

// pruning is a Prune in progress.
type pruning struct {
	Retention
	store   Store
	lister  Lister
	pruner  Pruner
	leaser  Leaser // nil: there is none
	inbox   Inbox  // nil: there is none
	now     time.Time
	writer  string
	deleted int
	damaged []error // heads that could not be read
}

// leaseOfPrune is how long a run is held while it is deleted.
const leaseOfPrune = time.Minute

func newPruning(s Store, r *Retention) (*pruning, error) {
	p := &pruning{Retention: *r, store: s, now: time.Now(), writer: "prune " + rand.Text()}
	var ok bool
	if p.lister, ok = As[Lister](s); !ok {
		return nil, lacking("Lister", "Prune")
	}
	if p.pruner, ok = As[Pruner](s); !ok {
		return nil, lacking("Pruner", "Prune")
	}
	if p.leaser, ok = As[Leaser](s); !ok && (r.Waiting > 0 || r.Parked > 0 || r.Abandoned > 0) {
		return nil, lacking("Leaser", "Prune of runs that have not ended")
	}
	p.inbox, _ = As[Inbox](s)
	return p, nil
}

// each calls do with each page of a query.
func (p *pruning) each(ctx context.Context, q Query, do func([]Head) error) error {
	q.Namespace, q.All, q.Labels, q.Limit = p.Namespace, p.All, p.Labels, 1000
	for {
		page, err := p.lister.List(ctx, q)
		switch {
		case errors.Is(err, ErrCorrupt):
			p.damaged = append(p.damaged, err)
		case err != nil:
			return err
		}
		if err := do(page.Heads); err != nil || page.Next.IsZero() {
			return err
		}
		q.After = page.Next
	}
}

// group is what Newest counts runs by.
type group struct{ namespace, value string }

// ended deletes runs that have ended, by age and by number.
func (p *pruning) ended(ctx context.Context) error {
	q := Query{Status: []Status{StatusDone, StatusFailed, StatusLimit, StatusStopped}}
	oldest := p.now.Add(-p.Ended)
	if p.Newest <= 0 {
		q.Updated = oldest
	}
	count := map[group]int{}
	return p.each(ctx, q, func(heads []Head) error {
		var old []Head
		for _, h := range heads {
			g := group{h.Key.Namespace, h.Header.Labels[p.By]}
			count[g]++
			tooOld := p.Ended > 0 && h.Updated.Before(oldest)
			tooMany := p.Newest > 0 && count[g] > p.Newest
			if (tooOld || tooMany) && !p.keeps(&h) {
				old = append(old, h)
			}
		}
		return p.deleteEnded(ctx, old)
	})
}

func (p *pruning) keeps(h *Head) bool { return p.Keep != nil && p.Keep(*h) }

// deleteEnded deletes runs that have ended, unless another run stands under the key since.
func (p *pruning) deleteEnded(ctx context.Context, heads []Head) error {
	var keys []Key
	for _, h := range heads {
		now, err := p.store.Head(ctx, h.Key)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return err
		case same(&h, &now):
			keys = append(keys, h.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := p.pruner.Delete(ctx, keys...); err != nil {
		return err
	}
	p.deleted += len(keys)
	return nil
}

// same reports whether nothing was appended between two heads.
func same(a, b *Head) bool {
	return a.Created.Equal(b.Created) && a.Updated.Equal(b.Updated) && a.Last == b.Last && a.Header.Status == b.Header.Status
}

// open deletes runs of a status that have not ended, by age.
func (p *pruning) open(ctx context.Context, status Status, age time.Duration) error {
	oldest := p.now.Add(-age)
	return p.each(ctx, Query{Status: []Status{status}, Updated: oldest, Unleased: true}, func(heads []Head) error {
		for _, h := range heads {
			if h.Header.Due.After(oldest) || p.keeps(&h) {
				continue
			}
			if err := p.deleteOpen(ctx, &h); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteOpen deletes a run that has not ended, unless somebody has gone on with it, or has
// something to say to it.
func (p *pruning) deleteOpen(ctx context.Context, h *Head) error {
	now, err := p.leaser.Lease(ctx, h.Key, p.writer, leaseOfPrune)
	if errors.Is(err, ErrLeased) || errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	unchanged := same(h, &now)
	if unchanged && p.inbox != nil {
		posted, err := p.inbox.Posted(ctx, h.Key)
		unchanged = err == nil && len(posted) == 0 // a message that cannot be read is one
	}
	if !unchanged {
		_, err := p.leaser.Lease(ctx, h.Key, p.writer, 0)
		return err
	}
	if err := p.pruner.Delete(ctx, h.Key); err != nil {
		return err
	}
	p.deleted++
	return nil
}
