package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

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
		b.Header = &checkpoint.Header{Status: checkpoint.StatusWaiting, Labels: map[string]string{"a": "b"}}
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
	if err := namedAsDamaged(ctx, f.Store, broken[0]); err != nil {
		return err
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
	if p, ok := checkpoint.As[checkpoint.Pruner](f.Store); ok {
		err := errors.Join(p.Delete(ctx, named(broken[0]), named(broken[1])), fill(ctx, f.Store, named(broken[0]), numbered(1, 1)))
		if err := errors.Join(err, besideDamage(ctx, l, checkpoint.Query{Labels: map[string]string{"a": "b"}, Limit: 7}, "r1 r3 r5 r6", nil)); err != nil {
			return fmt.Errorf("once the damaged runs are deleted: %w", err)
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

// namedAsDamaged asks for a run whose head is damaged, and for its lease: each error names it.
func namedAsDamaged(ctx context.Context, s checkpoint.Store, name string) error {
	key := named(name)
	said := map[string]error{}
	_, said["head"] = s.Head(ctx, key)
	if l, ok := checkpoint.As[checkpoint.Leaser](s); ok {
		_, said["lease"] = l.Lease(ctx, key, owner, time.Hour)
	}
	for what, err := range said {
		if err := namesRun(err, name, "%s of a run whose head is damaged", what); err != nil {
			return err
		}
	}
	return nil
}

// namesRun returns an error unless err is one of damage that names the run.
func namesRun(err error, name, what string, args ...any) error {
	if wrong := wraps(err, checkpoint.ErrCorrupt, what, args...); wrong != nil {
		return wrong
	}
	if !strings.Contains(err.Error(), name) {
		return fmt.Errorf("%s: an error that does not name the run: %w", fmt.Sprintf(what, args...), err)
	}
	return nil
}

// damagedMessage damages one of two messages to a run: it keeps back no other, be it to the run.
func damagedMessage(ctx context.Context, f Faulty) error {
	if f.DamageMessage == nil {
		return lacking("DamageMessage")
	}
	inbox, err := able[checkpoint.Inbox](f.Store)
	if err != nil {
		return err
	}
	another := named("another")
	for _, key := range []checkpoint.Key{run, another} {
		if err := errors.Join(fill(ctx, f.Store, key, numbered(1, 1)), inbox.Post(ctx, note(key, key.Run+"1")), inbox.Post(ctx, note(key, key.Run+"2"))); err != nil {
			return err
		}
	}
	if err := f.DamageMessage(run, run.Run+"1"); err != nil {
		return fmt.Errorf("the damage cannot be done: %w", err)
	}
	posted, err := inbox.Posted(ctx, run, another)
	if err := namesRun(err, run.Run, "messages to two runs, of which one is damaged"); err != nil {
		return err
	}
	texts := func(all ...checkpoint.Message) string {
		var list []string
		for _, m := range all {
			list = append(list, string(m.Data))
		}
		return strings.Join(list, " ")
	}
	want := texts(note(run, run.Run+"2"), note(another, "another1"), note(another, "another2"))
	if got := texts(posted...); got != want {
		return fmt.Errorf("messages beside one that is damaged: got %s, want %s", got, want)
	}
	return nil
}

// damagedSnapshots damages the snapshot of a run in each way: an error names the run, that of
// another is whole, and the next one replaces it.
func damagedSnapshots(ctx context.Context, f Faulty) error {
	if len(f.DamageSnapshots) == 0 {
		return lacking("DamageSnapshots")
	}
	snapshots, err := able[checkpoint.SnapshotStore](f.Store)
	if err != nil {
		return err
	}
	p, another := newPair(ctx, f.Store), named("another")
	for _, key := range []checkpoint.Key{run, another} {
		if err := errors.Join(p.fill(key, numbered(1, 3)), p.save(key, snapshotOf(key, 2))); err != nil {
			return err
		}
	}
	for name, damage := range f.DamageSnapshots {
		if err := damage(run); err != nil {
			return fmt.Errorf("the damage cannot be done: %w", err)
		}
		_, err := snapshots.Snapshot(ctx, run)
		if err := namesRun(err, run.Run, "a snapshot that is damaged (%s)", name); err != nil {
			return err
		}
		if err := errors.Join(p.compare(another), p.save(run, snapshotOf(run, 2))); err != nil {
			return fmt.Errorf("after a snapshot was damaged (%s): %w", name, err)
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
