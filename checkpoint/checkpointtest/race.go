package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// atOnce does something several times at once, and returns what came of each.
func atOnce(times int, do func(i int) error) []error {
	errs := make([]error, times)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// meanwhile does several things at once, and looks again and again until they are done, and then
// once more.
func meanwhile(look func() error, times int, do func(i int) error) error {
	written := make(chan error, 1)
	go func() { written <- errors.Join(atOnce(times, do)...) }()
	for seen := error(nil); ; seen = errors.Join(seen, look()) {
		select {
		case err := <-written:
			return errors.Join(err, seen, look())
		case <-time.After(100 * time.Microsecond):
		}
		if seen != nil {
			return errors.Join(<-written, seen)
		}
	}
}

// oneOf returns who of several succeeded at once; one must, and the others have to be refused in a
// way.
func oneOf(errs []error, refusal error) (winner int, err error) {
	winners := 0
	for i, err := range errs {
		if err == nil {
			winners++
			winner = i
		} else if err := wraps(err, refusal, "one of %d at once", len(errs)); err != nil {
			return 0, err
		}
	}
	if winners != 1 {
		return 0, fmt.Errorf("%d of %d at once succeeded, want 1", winners, len(errs))
	}
	return winner, nil
}

// oneWins has several writers append to the same places.
func oneWins(ctx context.Context, s checkpoint.Store) error {
	const writers, places = 8, 12
	var want []checkpoint.Record
	for seq := 1; seq <= places; seq++ {
		record := func(writer int) []checkpoint.Record {
			return journal(seq, fmt.Sprintf(`{"writer":%d,"seq":%d}`, writer, seq))
		}
		winner, err := oneOf(atOnce(writers, func(w int) error {
			return s.Append(ctx, by(batch(run, record(w)...), fmt.Sprint("writer ", w), 1))
		}), checkpoint.ErrConflict)
		if err != nil {
			return fmt.Errorf("append of record %d: %w", seq, err)
		}
		want = append(want, record(winner)...)
	}
	return expect(ctx, s, run, 1, want)
}

// batchesWhole has writers append to runs of their own, and looks on.
func batchesWhole(ctx context.Context, s checkpoint.Store) error {
	const runs, batches, size = 4, 10, 3
	of := func(i int) checkpoint.Key { return named(fmt.Sprint("run ", i)) }
	err := meanwhile(func() error {
		var errs []error
		for i := range runs {
			errs = append(errs, look(ctx, s, of(i), size))
		}
		return errors.Join(errs...)
	}, runs, func(i int) error {
		for b := range batches {
			if err := fill(ctx, s, of(i), numbered(b*size+1, size)); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range runs {
		err = errors.Join(err, expect(ctx, s, of(i), 1, numbered(1, batches*size)))
	}
	return err
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
