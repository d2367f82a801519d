package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// Faulty is a store, and how a test gets at what it is made of. What is nil is not tested.
type Faulty struct {
	Store checkpoint.Store // empty

	// Reopen ends the store as the end of its process would, and returns another of the same runs.
	Reopen func() checkpoint.Store

	// Interrupt breaks off what the store does now, as a lost connection would. It is called beside
	// an Append.
	Interrupt func()

	// Damages are ways to damage one record by the back door, by their names: to change its data,
	// to take it away, to give it another place. Where the store would find the damage earlier, it
	// may find it then.
	Damages map[string]func(key checkpoint.Key, seq int) error

	// DamageHead damages the head of a run by the back door, such as a byte of its header.
	DamageHead func(key checkpoint.Key) error

	// DamageStands are ways to damage where a run stands by the back door, by their names: the
	// place of its last record, its epoch, its lease, its recoveries.
	DamageStands map[string]func(key checkpoint.Key) error

	// DamageMessage damages a message to a run by the back door, such as a byte of its data.
	DamageMessage func(key checkpoint.Key, id string) error

	// DamageSnapshots are ways to damage the snapshot of a run by the back door, by their names:
	// its data, the number of its records, another run's in its place.
	DamageSnapshots map[string]func(key checkpoint.Key) error

	// DamageValue damages a value of a run by the back door, such as a byte of its data.
	DamageValue func(key checkpoint.Key, id string) error
}

// Faults checks in subtests what becomes of a store by what [Test] cannot do to it. open opens an
// empty one for each.
func Faults(t *testing.T, open func(t *testing.T) Faulty) {
	t.Helper()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { report(t, func(ctx context.Context) error { return f.run(ctx, open(t)) }) })
	}
	t.Run("damaged stand", func(t *testing.T) {
		names := open(t).DamageStands
		if len(names) == 0 {
			t.Skip(lacking("DamageStands"))
		}
		for name := range names {
			t.Run(name, func(t *testing.T) {
				report(t, func(ctx context.Context) error { return damagedStand(ctx, open(t), name) })
			})
		}
	})
	t.Run("damage", func(t *testing.T) {
		names := open(t).Damages
		if len(names) == 0 {
			t.Skip(lacking("Damages"))
		}
		for name := range names {
			for _, seq := range damagedPlaces {
				t.Run(fmt.Sprintf("%s/%d", name, seq), func(t *testing.T) {
					report(t, func(ctx context.Context) error { return damaged(ctx, open(t), name, seq) })
				})
			}
		}
	})
}

var faults = []struct {
	name string
	run  func(context.Context, Faulty) error
}{
	{"reopen", reopened},
	{"closed", closed},
	{"retry after reopen", retryReopened},
	{"interrupt", interrupted},
	{"damaged heads", damagedHeads},
	{"damaged message", damagedMessage},
	{"damaged snapshot", damagedSnapshots},
	{"damaged value", damagedValue},
}

// reopened compares all that a store says with what another says of the same runs.
func reopened(ctx context.Context, f Faulty) error {
	if f.Reopen == nil {
		return lacking("Reopen")
	}
	p := newPair(ctx, f.Store)
	headers := population()
	headers[run] = *fullHeader()
	for key, header := range headers {
		b := batch(key, numbered(1, 3)...)
		b.Header, b.Lease = &header, time.Duration(len(p.keys)%3)*time.Hour
		err := p.append(b)
		if len(p.keys)%2 == 0 {
			err = errors.Join(err, optional(p.post(note(key, key.String()+"1"))), optional(p.save(key, snapshotOf(key, 2))), optional(p.put(key, "a", []byte(key.Run))))
		}
		if err != nil {
			return err
		}
	}
	if err := optional(p.delete(p.keys[3])); err != nil {
		return err
	}
	before := p.store.all(ctx, p.keys)
	p.store = viewOf(f.Reopen())
	if after := p.store.all(ctx, p.keys); before != after {
		return fmt.Errorf("when the store is opened again it differs: %s", difference(after, before))
	}
	return p.compare(p.keys...)
}

// closed calls each method of a store that is closed, which may be closed again.
func closed(ctx context.Context, f Faulty) error {
	closer, ok := f.Store.(io.Closer)
	if !ok {
		return lacking("Close")
	}
	if err := errors.Join(fill(ctx, f.Store, run, numbered(1, 1)), closer.Close(), closer.Close()); err != nil {
		return err
	}
	for what, err := range calls(ctx, f.Store) {
		if err := wraps(err, checkpoint.ErrClosed, "%s of a store that is closed", what); err != nil {
			return err
		}
	}
	return nil
}

// retryReopened makes the very same Append again to a store that was opened anew.
func retryReopened(ctx context.Context, f Faulty) error {
	if f.Reopen == nil {
		return lacking("Reopen")
	}
	p := newPair(ctx, f.Store)
	for i := range 4 {
		b := by(batch(run, numbered(1+2*i, 2)...), owner, int64(1+i))
		if err := p.append(b); err != nil {
			return err
		}
		p.store = viewOf(f.Reopen())
		if err := errors.Join(p.append(b), p.append(by(b, other, b.Epoch)), p.append(by(batch(run, numbered(3+2*i, 1)...), other, int64(i)))); err != nil {
			return fmt.Errorf("after the store was opened again: %w", err)
		}
	}
	return nil
}

// interrupted has Appends interrupted.
func interrupted(ctx context.Context, f Faulty) error {
	if f.Interrupt == nil {
		return lacking("Interrupt")
	}
	return brokenOff(ctx, f.Store, 20, func(ctx context.Context, after time.Duration, appends func(context.Context) error) error {
		done := make(chan error)
		go func() { done <- appends(ctx) }()
		time.Sleep(after)
		f.Interrupt()
		return <-done
	})
}
