package checkpointtest

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

func from(ctx context.Context, s checkpoint.Store) error {
	want := numbered(1, 300) // more than a page, if there are pages
	if err := fill(ctx, s, run, want); err != nil {
		return err
	}
	for _, first := range []int{-1, 0, 1, 2, 99, 100, 101, 256, 300, 301, 1 << 30} {
		if err := expect(ctx, s, run, first, want[min(max(first, 1)-1, len(want)):]); err != nil {
			return err
		}
	}
	return nil
}

func noSuchRun(ctx context.Context, s checkpoint.Store) error {
	missing := func() error {
		for _, first := range []int{-1, 1, 7} {
			for _, id := range []string{run.Run, ""} {
				if err := expectNone(ctx, s, named(id), first); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := missing(); err != nil {
		return err
	}
	if err := fill(ctx, s, named("another"), numbered(1, 9)); err != nil {
		return err
	}
	return missing()
}

func doneContext(ctx context.Context, s checkpoint.Store) error {
	kept := numbered(1, 2)
	if err := fill(ctx, s, run, kept); err != nil {
		return err
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := wraps(s.Append(done, batch(run, numbered(3, 1)...)), context.Canceled, "append with a context that is done"); err != nil {
		return err
	}
	for _, id := range []string{run.Run, "missing"} {
		got, err := read(done, s, named(id), 1)
		if err := wraps(err, context.Canceled, "run %q: read with a context that is done", id); err != nil {
			return err
		}
		if len(got) > 0 {
			return fmt.Errorf("run %q: read with a context that is done gave %d records", id, len(got))
		}
	}
	return expect(ctx, s, run, 1, kept)
}

// doneAbilities calls each method of each ability with a context that is done.
func doneAbilities(ctx context.Context, s checkpoint.Store) error {
	if err := fill(ctx, s, run, numbered(1, 1)); err != nil {
		return err
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	calls := map[string]error{}
	_, calls["head"] = s.Head(done, run)
	if l, ok := checkpoint.As[checkpoint.Lister](s); ok {
		_, calls["list"] = l.List(done, checkpoint.Query{})
	}
	in, posts := checkpoint.As[checkpoint.Inbox](s)
	if posts {
		calls["post"] = in.Post(done, note(run, "1"))
		_, calls["posted"] = in.Posted(done, run)
	}
	if k, ok := checkpoint.As[checkpoint.SnapshotStore](s); ok {
		calls["save snapshot"] = k.SaveSnapshot(done, run, checkpoint.Snapshot{Records: 1})
		_, calls["snapshot"] = k.Snapshot(done, run)
	}
	if v, ok := checkpoint.As[checkpoint.ValueStore](s); ok {
		calls["put value"] = v.PutValue(done, run, "a", nil)
		_, _, calls["read value"] = v.ReadValue(done, run, "a", 0, 1)
		_, calls["values"] = v.Values(done, run)
	}
	if l, ok := checkpoint.As[checkpoint.Leaser](s); ok {
		_, calls["lease"] = l.Lease(done, run, owner, time.Hour)
	}
	if p, ok := checkpoint.As[checkpoint.Pruner](s); ok {
		calls["delete"] = p.Delete(done, run)
		calls["vacuum"] = p.Vacuum(done)
	}
	for what, err := range calls {
		if err := wraps(err, context.Canceled, "%s with a context that is done", what); err != nil {
			return err
		}
	}
	if posts {
		if err := (&posted{in, s}).expect(ctx, run); err != nil {
			return err
		}
	}
	return expectHead(ctx, s, checkpoint.Head{Key: run, Header: checkpoint.Header{Status: checkpoint.StatusRunning}, Last: 1, Epoch: 1})
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
	return expect(ctx, s, run, 1, append(want, more...))
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
		if err := expect(ctx, s, named("a copy"), 1, want[:r.Seq]); err != nil {
			return fmt.Errorf("read while another is read: %w", err)
		}
	}
	if err := expect(ctx, s, named("a copy"), 1, want); err != nil {
		return err
	}
	return expect(ctx, s, run, 1, numbered(1, 2*len(want)))
}

// deleted checks Delete, where there is one.
func deleted(ctx context.Context, s checkpoint.Store) error {
	p, err := able[checkpoint.Pruner](s)
	if err != nil {
		return err
	}
	kept := numbered(1, 3)
	for _, id := range []string{run.Run, "another"} {
		if err := fill(ctx, s, named(id), kept); err != nil {
			return err
		}
	}
	for _, id := range []string{run.Run, run.Run, "missing", ""} {
		if err := p.Delete(ctx, named(id)); err != nil {
			return fmt.Errorf("delete of run %q: %w", id, err)
		}
	}
	if err := refused(ctx, s, nil, numbered(4, 1)); err != nil {
		return fmt.Errorf("a run that was deleted: %w", err)
	}
	if err := fill(ctx, s, run, kept[:1]); err != nil {
		return fmt.Errorf("a run that begins anew: %w", err)
	}
	if err := expect(ctx, s, run, 1, kept[:1]); err != nil {
		return err
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := wraps(p.Delete(done, named("another")), context.Canceled, "delete with a context that is done"); err != nil {
		return err
	}
	return expect(ctx, s, named("another"), 1, kept)
}
