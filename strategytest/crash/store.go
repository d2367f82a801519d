package crash

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// errKilled is what a process gets of its store, and of its effects, once it is killed.
var errKilled = fmt.Errorf("%w: the process was killed", checkpoint.ErrConflict)

// errNoAbility is what a store says that lacks what is asked of it.
var errNoAbility = errors.New("crash: the store has no such ability")

// processStore is the store of a run as one process sees it: once that is killed it can neither
// write nor read any more.
type processStore struct{ *process }

// Append implements checkpoint.Store.
func (s processStore) Append(ctx context.Context, b checkpoint.Batch) error {
	j, what := s.w.journal, "an append of "+describe(&b)
	switch heartbeat := len(b.Records) == 0 && b.Lease > 0; {
	case heartbeat && s.isDead():
		return errKilled
	case heartbeat: // there may be many, and whoever dies then might have died before as well
		return j.store.Append(ctx, b)
	case !s.boundary(kindAppend, "before "+what):
		return errKilled
	}
	if err := j.store.Append(ctx, b); err != nil {
		return err
	}
	records := slices.Clone(b.Records)
	if sense := s.w.c.senses.records; sense != nil {
		sense(records)
	}
	for _, problem := range j.read(records) {
		s.w.complain(lawJournal, problem)
	}
	s.w.checkNamed(ctx, b.Key, b.Records)
	if !s.boundary(kindAppend, "after "+what) {
		return errKilled
	}
	return nil
}

// describe says what a batch holds.
func describe(b *checkpoint.Batch) string {
	if len(b.Records) == 0 {
		if b.Lease < 0 {
			return "the end of the lease"
		}
		return "nothing but the head"
	}
	var records []string
	for _, r := range b.Records {
		records = append(records, fmt.Sprintf("record %d %s", r.Seq, r.Type))
	}
	return strings.Join(records, ", ")
}

// Read implements checkpoint.Store.
func (s processStore) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	if s.isDead() {
		return func(yield func(checkpoint.Record, error) bool) { yield(checkpoint.Record{}, errKilled) }
	}
	return s.w.journal.store.Read(ctx, key, from)
}

// Head implements checkpoint.Store.
func (s processStore) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	if s.isDead() {
		return checkpoint.Head{}, errKilled
	}
	return s.w.journal.store.Head(ctx, key)
}

// Lease implements checkpoint.Leaser.
func (s processStore) Lease(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (checkpoint.Head, error) {
	if !s.boundary(kindLease, "before the lease") {
		return checkpoint.Head{}, errKilled
	}
	leaser, ok := checkpoint.As[checkpoint.Leaser](s.w.journal.store)
	if !ok {
		return checkpoint.Head{}, errNoAbility
	}
	head, err := leaser.Lease(ctx, key, writer, d)
	if err == nil && !s.boundary(kindLease, "after the lease") {
		return checkpoint.Head{}, errKilled
	}
	return head, err
}

// Post implements checkpoint.Inbox.
func (s processStore) Post(ctx context.Context, m checkpoint.Message) error {
	inbox, ok := checkpoint.As[checkpoint.Inbox](s.w.journal.store)
	switch {
	case s.isDead():
		return errKilled
	case !ok:
		return errNoAbility
	}
	return inbox.Post(ctx, m)
}

// Posted implements checkpoint.Inbox.
func (s processStore) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	inbox, ok := checkpoint.As[checkpoint.Inbox](s.w.journal.store)
	switch {
	case s.isDead():
		return nil, errKilled
	case !ok:
		return nil, nil
	}
	return inbox.Posted(ctx, keys...)
}
