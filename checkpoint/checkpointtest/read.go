package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// calls calls each method, and returns what it says.
func calls(ctx context.Context, s checkpoint.Store) map[string]error {
	all := map[string]error{"append": s.Append(ctx, batch(run, numbered(2, 1)...))}
	_, all["read"] = read(ctx, s, run, 1)
	_, all["read of no run"] = read(ctx, s, named("missing"), 1)
	_, all["head"] = s.Head(ctx, run)
	if l, ok := checkpoint.As[checkpoint.Lister](s); ok {
		_, all["list"] = l.List(ctx, checkpoint.Query{})
	}
	if in, ok := checkpoint.As[checkpoint.Inbox](s); ok {
		all["post"] = in.Post(ctx, note(run, "1"))
		_, all["posted"] = in.Posted(ctx, run)
	}
	if k, ok := checkpoint.As[checkpoint.SnapshotStore](s); ok {
		all["save snapshot"] = k.SaveSnapshot(ctx, run, checkpoint.Snapshot{Records: 1})
		_, all["snapshot"] = k.Snapshot(ctx, run)
	}
	if v, ok := checkpoint.As[checkpoint.ValueStore](s); ok {
		all["put value"] = v.PutValue(ctx, run, "a", nil)
		_, _, all["read value"] = v.ReadValue(ctx, run, "a", 0, 1)
		_, all["values"] = v.Values(ctx, run)
	}
	if l, ok := checkpoint.As[checkpoint.Leaser](s); ok {
		_, all["lease"] = l.Lease(ctx, run, owner, time.Hour)
	}
	if p, ok := checkpoint.As[checkpoint.Pruner](s); ok {
		all["delete"] = p.Delete(ctx, run)
		all["vacuum"] = p.Vacuum(ctx)
	}
	return all
}

// doneContext calls each method with a context that is done.
func doneContext(ctx context.Context, s checkpoint.Store) error {
	if err := fill(ctx, s, run, numbered(1, 1)); err != nil {
		return err
	}
	before := viewOf(s).all(ctx, []checkpoint.Key{run})
	done, cancel := context.WithCancel(ctx)
	cancel()
	for what, err := range calls(done, s) {
		if err := wraps(err, context.Canceled, "%s with a context that is done", what); err != nil {
			return err
		}
	}
	if after := viewOf(s).all(ctx, []checkpoint.Key{run}); before != after {
		return fmt.Errorf("calls with a context that is done changed the run: %s", difference(after, before))
	}
	return nil
}

// deletedWhileReading deletes a run and begins it anew while it is read: it is never read as a
// mixture.
func deletedWhileReading(ctx context.Context, s checkpoint.Store) error {
	p, err := able[checkpoint.Pruner](s)
	if err != nil {
		return err
	}
	old := make([]string, 1000)
	for i := range old {
		old[i] = fmt.Sprint("old ", i)
	}
	if err := fill(ctx, s, run, journal(1, old...)); err != nil {
		return err
	}
	for r, err := range s.Read(ctx, run, 1) {
		if err != nil {
			return wraps(err, checkpoint.ErrNotFound, "read of a run that was deleted and begun anew meanwhile")
		}
		if want := old[min(r.Seq, len(old))-1]; string(r.Data) != want {
			return fmt.Errorf("read of a run that was deleted and begun anew meanwhile: record %d is %.40q, want %q", r.Seq, r.Data, want)
		}
		if r.Seq == 1 {
			if err := errors.Join(p.Delete(ctx, run), fill(ctx, s, run, journal(1, make([]string, 2000)...))); err != nil {
				return err
			}
		}
	}
	return nil // all of it was read before
}

func doneWhileReading(ctx context.Context, s checkpoint.Store) error {
	if err := fill(ctx, s, run, numbered(1, 300)); err != nil {
		return err
	}
	done, cancel := context.WithCancel(ctx)
	defer cancel()
	var yields []error
	for _, err := range s.Read(done, run, 1) {
		yields = append(yields, err)
		cancel()
	}
	if len(yields) != 2 {
		return fmt.Errorf("read whose context is done after the first record yielded %d times, want 2: the record, and an error", len(yields))
	}
	return wraps(yields[1], context.Canceled, "read whose context is done after the first record")
}

// breakOff leaves a Read in the middle.
func breakOff(ctx context.Context, s checkpoint.Store) error {
	want := numbered(1, 300)
	if err := fill(ctx, s, run, want); err != nil {
		return err
	}
	seq := s.Read(ctx, run, 1)
	for _, after := range []int{1, 150} {
		if n := taken(seq, after); n != after {
			return fmt.Errorf("a range that breaks after %d records was given %d", after, n)
		}
	}
	if n := taken(seq, len(want)+1); n != len(want) {
		return fmt.Errorf("ranging again over what one Read returned gave %d records, want %d", n, len(want))
	}
	more := numbered(301, 1)
	if err := fill(ctx, s, run, more); err != nil {
		return err
	}
	return expect(ctx, s, run, append(want, more...))
}

// taken ranges over seq, breaks after so many, and returns how many it was given.
func taken(seq iter.Seq2[checkpoint.Record, error], after int) (n int) {
	seq(func(_ checkpoint.Record, err error) bool {
		if err == nil {
			n++
		}
		return n < after
	})
	return n
}

// appendWhileReading copies a run as it comes, and appends to it, too.
func appendWhileReading(ctx context.Context, s checkpoint.Store) error {
	want := numbered(1, 20)
	if err := fill(ctx, s, run, want); err != nil {
		return err
	}
	for r, err := range s.Read(ctx, run, 1) {
		if err != nil {
			return err
		}
		if r.Seq > len(want) { // it may be yielded
			break
		}
		if err := fill(ctx, s, named("a copy"), []checkpoint.Record{r}); err != nil {
			return fmt.Errorf("append to another run while one is read: %w", err)
		}
		if err := fill(ctx, s, run, numbered(len(want)+r.Seq, 1)); err != nil {
			return fmt.Errorf("append to the run that is read: %w", err)
		}
		if err := expect(ctx, s, named("a copy"), want[:r.Seq]); err != nil {
			return fmt.Errorf("read while another is read: %w", err)
		}
	}
	if err := expect(ctx, s, named("a copy"), want); err != nil {
		return err
	}
	return expect(ctx, s, run, numbered(1, 2*len(want)))
}
