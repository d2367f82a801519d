package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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

	// DamageStands are ways to damage where a run stands by the back door, by their names: the place
	// of its last record, its epoch, its lease, its recoveries.
	DamageStands map[string]func(key checkpoint.Key) error

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

// damagedStand damages where a run stands: whoever reads or changes the run is told of it, and no
// change makes it good. Other runs go on, and the damaged one can be deleted.
func damagedStand(ctx context.Context, f Faulty, name string) error {
	s, another := f.Store, named("another")
	if err := errors.Join(fill(ctx, s, run, numbered(1, 3)), fill(ctx, s, another, numbered(1, 3))); err != nil {
		return err
	}
	l, leases := checkpoint.As[checkpoint.Leaser](s)
	if leases {
		if _, err := l.Lease(ctx, run, owner, time.Hour); err != nil {
			return err
		}
	}
	if err := f.DamageStands[name](run); err != nil {
		return fmt.Errorf("the damage cannot be done: %w", err)
	}
	for range 2 {
		said := map[string]error{}
		_, said["head"] = s.Head(ctx, run)
		_, said["read"] = read(ctx, s, run, 1)
		for seq := 1; seq < 16; seq++ {
			b := by(batch(run, numbered(seq, 1)...), owner, 1<<40)
			b.Header = nil
			said[fmt.Sprint("append of record ", seq)] = s.Append(ctx, b)
		}
		if k, ok := checkpoint.As[checkpoint.SnapshotStore](s); ok {
			said["save snapshot"] = k.SaveSnapshot(ctx, run, checkpoint.Snapshot{Records: 1})
		}
		if leases {
			_, said["lease"] = l.Lease(ctx, run, owner, time.Hour)
		}
		if lister, ok := checkpoint.As[checkpoint.Lister](s); ok {
			_, said["list"] = lister.List(ctx, checkpoint.Query{})
		}
		for what, err := range said {
			if err := wraps(err, checkpoint.ErrCorrupt, "%s of a run whose stand is damaged", what); err != nil {
				return err
			}
		}
	}
	if err := fill(ctx, s, another, numbered(4, 1)); err != nil {
		return fmt.Errorf("beside a run whose stand is damaged: %w", err)
	}
	if p, ok := checkpoint.As[checkpoint.Pruner](s); ok {
		return errors.Join(p.Delete(ctx, run), fill(ctx, s, run, numbered(1, 1)), expect(ctx, s, run, numbered(1, 1)))
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

// damagedPlaces are those of the records that are damaged, of ten: the last one, too, whose loss
// leaves a journal that looks whole.
var damagedPlaces = []int{1, 5, 10}

// damaged damages a record: what is read before it is right, and then comes an error that names the
// run and the record. Other runs are as they were.
func damaged(ctx context.Context, f Faulty, name string, seq int) error {
	want := numbered(1, 10)
	another := named("another")
	for _, key := range []checkpoint.Key{run, another} {
		if err := fill(ctx, f.Store, key, want); err != nil {
			return err
		}
	}
	if err := f.Damages[name](run, seq); err != nil {
		return fmt.Errorf("the damage cannot be done: %w", err)
	}
	s := f.Store
	if f.Reopen != nil {
		s = f.Reopen()
	}
	for _, from := range []int{1, seq} {
		got, err := read(ctx, s, run, from)
		what := fmt.Sprintf("read from %d of a run with a damaged record %d: after %d records", from, seq, len(got))
		switch {
		case err == nil:
			return fmt.Errorf("%s: no error", what)
		case errors.Is(err, checkpoint.ErrNotFound), errors.Is(err, checkpoint.ErrConflict):
			return fmt.Errorf("%s: an error that says something else: %w", what, err)
		case !errors.Is(err, checkpoint.ErrCorrupt):
			return fmt.Errorf("%s: an error that does not wrap checkpoint.ErrCorrupt: %w", what, err)
		case !strings.Contains(err.Error(), run.Run) || !strings.Contains(err.Error(), strconv.Itoa(seq)):
			return fmt.Errorf("%s: an error that does not name the run and the record: %w", what, err)
		case len(got) > seq-from:
			return fmt.Errorf("%s: records that were not to be read", what)
		}
		for i, r := range got {
			if w := want[from+i-1]; r.Seq != w.Seq || string(r.Data) != string(w.Data) {
				return fmt.Errorf("%s: got record %d, %.80q; want record %d, %.80q", what, r.Seq, r.Data, w.Seq, w.Data)
			}
		}
	}
	return expect(ctx, s, another, want)
}

// damagedHeads damages the heads of two of six runs: every page of a list has the others, and an
// error that names the damaged ones of the page, and lists of other runs have none.
func damagedHeads(ctx context.Context, f Faulty) error {
	if f.DamageHead == nil {
		return lacking("DamageHead")
	}
	l, err := able[checkpoint.Lister](f.Store)
	if err != nil {
		return err
	}
	for _, name := range []string{"r1", "r2-damaged", "r3", "r4-damaged", "r5", "r6"} {
		b := batch(checkpoint.Key{Run: name}, numbered(1, 1)...)
		b.Header = &checkpoint.Header{Status: checkpoint.StatusWaiting}
		if name >= "r5" {
			b.Header.Status = checkpoint.StatusRunning
		}
		if err := f.Store.Append(ctx, b); err != nil {
			return err
		}
	}
	broken := []string{"r2-damaged", "r4-damaged"} // errors hold names of databases, too, and these may hold any short name
	for _, name := range broken {
		if err := f.DamageHead(checkpoint.Key{Run: name}); err != nil {
			return fmt.Errorf("the damage cannot be done: %w", err)
		}
	}
	for limit := 1; limit <= 7; limit++ {
		if err := besideDamage(ctx, l, checkpoint.Query{Limit: limit}, "r1 r3 r5 r6", broken); err != nil {
			return fmt.Errorf("in pages of %d: %w", limit, err)
		}
		q := checkpoint.Query{Limit: limit, Status: []checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusDone}}
		if err := besideDamage(ctx, l, q, "r5 r6", nil); err != nil {
			return fmt.Errorf("runs of another status, in pages of %d: %w", limit, err)
		}
	}
	return nil
}

// besideDamage reads a list to its end.
func besideDamage(ctx context.Context, l checkpoint.Lister, q checkpoint.Query, want string, broken []string) error {
	var found []checkpoint.Head
	named := map[string]int{}
	for pages := 1; ; pages++ {
		page, err := l.List(ctx, q)
		switch {
		case err != nil && !errors.Is(err, checkpoint.ErrCorrupt):
			return fmt.Errorf("list: an error that does not wrap checkpoint.ErrCorrupt: %w", err)
		case len(page.Heads) > q.Limit || pages > 7:
			return fmt.Errorf("list: a page of %d heads, or too many pages", len(page.Heads))
		}
		found = append(found, page.Heads...)
		for _, name := range broken {
			if err != nil && strings.Contains(err.Error(), name) {
				named[name]++
			}
		}
		if err != nil && len(broken) == 0 {
			return fmt.Errorf("list of runs that are whole: %w", err)
		}
		if q.After = page.Next; q.After.IsZero() {
			break
		}
	}
	if got := keyed(found); got != want {
		return fmt.Errorf("list beside damaged heads: got the runs %q, want %q", got, want)
	}
	for _, name := range broken {
		if named[name] != 1 {
			return fmt.Errorf("the damaged head of run %s is named by %d pages, and not by one", name, named[name])
		}
	}
	return nil
}

// damagedValue damages a value: a range in which the damage lies is an error that names the run,
// and other values and the records are as they were.
func damagedValue(ctx context.Context, f Faulty) error {
	if f.DamageValue == nil {
		return lacking("DamageValue")
	}
	v, err := able[checkpoint.ValueStore](f.Store)
	if err != nil {
		return err
	}
	p, want := newPair(ctx, f.Store), valueOf("damage", 200_000)
	if err := errors.Join(p.fill(run, numbered(1, 1)), p.put(run, "damaged", want), p.put(run, "whole", want)); err != nil {
		return err
	}
	if err := f.DamageValue(run, "damaged"); err != nil {
		return fmt.Errorf("the damage cannot be done: %w", err)
	}
	got, _, err := v.ReadValue(ctx, run, "damaged", 0, len(want))
	if err := wraps(err, checkpoint.ErrCorrupt, "read of a value that is damaged: %d bytes, and", len(got)); err != nil {
		return err
	}
	if !strings.Contains(err.Error(), run.Run) || !strings.Contains(err.Error(), "damaged") {
		return fmt.Errorf("an error that does not name the run and the value: %w", err)
	}
	return errors.Join(p.value(run, "whole", 0, len(want)), p.read(run, 1))
}
