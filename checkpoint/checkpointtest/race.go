package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/segue-go/segue/checkpoint"
)

// oneWins has several writers append to the same places.
func oneWins(ctx context.Context, s checkpoint.Store) error {
	const writers, places = 8, 12
	var want []checkpoint.Record
	for seq := 1; seq <= places; seq++ {
		errs := make([]error, writers)
		record := func(writer int) []checkpoint.Record {
			return journal(seq, fmt.Sprintf(`{"writer":%d,"seq":%d}`, writer, seq))
		}
		start := make(chan struct{})
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				<-start
				b := batch(run, record(w)...)
				b.Writer = fmt.Sprint("writer ", w)
				errs[w] = s.Append(ctx, b)
			})
		}
		close(start)
		all.Wait()
		winners := 0
		for w, err := range errs {
			if err == nil {
				winners++
				want = append(want, record(w)...)
				continue
			}
			if err := wraps(err, checkpoint.ErrConflict, "one of %d writers of record %d", writers, seq); err != nil {
				return err
			}
		}
		if winners != 1 {
			return fmt.Errorf("%d writers of record %d: %d of them succeeded, want 1", writers, seq, winners)
		}
	}
	return expect(ctx, s, run, 1, want)
}

// batchesWhole has writers append to runs of their own, and readers look on.
func batchesWhole(ctx context.Context, s checkpoint.Store) error {
	const runs, batches, size = 4, 10, 3
	errs := make([]error, 2*runs)
	var all sync.WaitGroup
	for i := range runs {
		id := named(fmt.Sprint("run ", i))
		written := make(chan struct{})
		all.Go(func() {
			defer close(written)
			for b := range batches {
				if errs[2*i] = fill(ctx, s, id, numbered(b*size+1, size)); errs[2*i] != nil {
					return
				}
			}
		})
		all.Go(func() {
			for over := false; !over && errs[2*i+1] == nil; {
				select {
				case <-written:
					over = true // look once more
				default:
				}
				errs[2*i+1] = look(ctx, s, id, size)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range runs {
		if err := expect(ctx, s, named(fmt.Sprint("run ", i)), 1, numbered(1, batches*size)); err != nil {
			return err
		}
	}
	return nil
}

// look reads a run that is being written: it must hold whole batches, and no gap.
func look(ctx context.Context, s checkpoint.Store, id checkpoint.Key, size int) error {
	got, err := read(ctx, s, id, 1)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return fmt.Errorf("run %q: read while it is written: %w", id, err)
	}
	for i, r := range got {
		if want := numbered(i+1, 1)[0]; r.Seq != want.Seq || !bytes.Equal(r.Data, want.Data) {
			return fmt.Errorf("run %q: read while it is written: at %d: got record %d, %.80q", id, i, r.Seq, r.Data)
		}
	}
	if len(got)%size != 0 {
		return fmt.Errorf("run %q: read while it is written: %d records, but they are appended %d at a time", id, len(got), size)
	}
	return nil
}
