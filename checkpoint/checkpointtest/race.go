package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
	return expect(ctx, s, run, want)
}

// takenOver has several append whatever stands there, while others come in higher epochs: behind a
// record there is none of a lower epoch.
func takenOver(ctx context.Context, s checkpoint.Store) error {
	const writers, each = 4, 8
	for round := range 8 {
		key := named(fmt.Sprint("run ", round))
		if err := fill(ctx, s, key, numbered(1, 1)); err != nil {
			return err
		}
		var stored [writers]int
		errs := atOnce(writers, func(w int) error {
			began := false
			for asked := 0; stored[w] < each; asked++ {
				h, err := s.Head(ctx, key)
				if err != nil {
					return err
				}
				b := by(batch(key, checkpoint.Record{Seq: h.Last + 1, Type: fmt.Sprint(w), Data: []byte(fmt.Sprint(stored[w]))}), fmt.Sprint("writer ", w), int64(1+(w+round)%writers))
				if b.Header.Reason = b.Writer; began && h.Epoch == b.Epoch && h.Header.Reason != b.Writer {
					return fmt.Errorf("the head is that of %s, in the epoch of %s", h.Header.Reason, b.Writer)
				}
				b.Records = b.Records[asked%2:]
				switch err := s.Append(ctx, b); {
				case err == nil:
					stored[w] += len(b.Records)
					began = true
				case errors.Is(err, checkpoint.ErrFenced):
					return nil
				case !errors.Is(err, checkpoint.ErrConflict):
					return err
				}
			}
			return nil
		})
		want := numbered(1, 1)
		for i := range writers { // by their epochs
			w := (i + (writers-1)*round) % writers
			for i := range stored[w] {
				want = append(want, checkpoint.Record{Seq: len(want) + 1, Type: fmt.Sprint(w), Data: []byte(fmt.Sprint(i))})
			}
		}
		if err := errors.Join(append(errs, expect(ctx, s, key, want))...); err != nil {
			return fmt.Errorf("a run that is taken over while it is written: %w", err)
		}
	}
	return nil
}

// oneLeases has many take the lease of a run at once.
func oneLeases(ctx context.Context, s checkpoint.Store) error {
	const writers, rounds = 8, 6
	l, err := able[checkpoint.Leaser](s)
	if err != nil {
		return err
	}
	if err := fill(ctx, s, run, numbered(1, 1)); err != nil {
		return err
	}
	holder := ""
	for round := range rounds {
		if holder != "" { // by turns it is given up, and runs out
			if _, err := l.Lease(ctx, run, holder, time.Duration(round%2)*moment); err != nil {
				return err
			}
		}
		time.Sleep(2 * moment)
		winner, err := oneOf(atOnce(writers, func(w int) error {
			_, err := l.Lease(ctx, run, fmt.Sprintf("writer %d of round %d", w, round), time.Hour)
			return err
		}), checkpoint.ErrLeased)
		if err != nil {
			return fmt.Errorf("lease of a run: %w", err)
		}
		holder = fmt.Sprintf("writer %d of round %d", winner, round)
		h, err := s.Head(ctx, run)
		if err != nil {
			return err
		}
		if h.Epoch != int64(2+round) || h.Lease.Writer != holder {
			return fmt.Errorf("after %d leases the epoch is %d, want %d; the lease is that of %q, want %q", round+1, h.Epoch, 2+round, h.Lease.Writer, holder)
		}
	}
	return nil
}

// onlooker looks at a store that is written.
type onlooker struct {
	*view
	looked, saved int // how often; records of the snapshot
}

const (
	first   = 24 // records of a run, before others look on
	batches = 16 // that are then appended, each of which takes a message
	size    = 3  // of a batch
)

// seenWhole has several append batches to runs of their own, and save snapshots and put values of
// one run, and looks on: nothing is seen in part, and nothing goes back.
func seenWhole(ctx context.Context, s checkpoint.Store) error {
	const writers = 4
	o := &onlooker{view: viewOf(s)}
	if err := o.savedAtOnce(ctx); err != nil {
		return err
	}
	for w := range writers {
		if err := fill(ctx, s, writtenBy(w), numbered(1, first)); err != nil {
			return err
		}
		for i := 0; i < batches && o.inbox != nil; i++ {
			if err := o.inbox.Post(ctx, note(writtenBy(w), fmt.Sprint(w, i))); err != nil {
				return err
			}
		}
	}
	err := meanwhile(func() error { return o.look(ctx, writtenBy(o.looked%writers)) }, writers, func(w int) error {
		for n := range batches {
			b := batch(writtenBy(w), numbered(1+first+n*size, size)...)
			b.Header.Reason, b.Taken = fmt.Sprint(n+1), []string{fmt.Sprint(w, n)}
			if err := errors.Join(s.Append(ctx, b), o.keep(ctx, w, n)); err != nil {
				return err
			}
		}
		return nil
	})
	for w := range writers {
		err = errors.Join(err, o.look(ctx, writtenBy(w)), expect(ctx, s, writtenBy(w), numbered(1, first+batches*size)))
	}
	if err == nil && o.kept != nil && o.saved != first {
		err = fmt.Errorf("the snapshot that is left is of %d records, want %d", o.saved, first)
	}
	return err
}

// savedAtOnce has several save snapshots of a run at once, in several orders: that of most records
// stays.
func (o *onlooker) savedAtOnce(ctx context.Context) error {
	const writers = 4
	for round := 0; round < 8 && o.kept != nil; round++ {
		key := named(fmt.Sprint("saved ", round))
		if err := fill(ctx, o.store, key, numbered(1, writers)); err != nil {
			return err
		}
		errs := atOnce(writers, func(w int) error { return o.kept.SaveSnapshot(ctx, key, snapshotOf(key, 1+(w+round)%writers)) })
		got, err := o.kept.Snapshot(ctx, key)
		if err := errors.Join(append(errs, err)...); err != nil || got.Records != writers {
			return fmt.Errorf("of snapshots of 1 to %d records, saved at once, the one of %d is left (error %w)", writers, got.Records, err)
		}
	}
	return nil
}

func writtenBy(w int) checkpoint.Key { return named(fmt.Sprint("run ", w)) }

// keep saves and puts what several save and put at once.
func (o *onlooker) keep(ctx context.Context, w, n int) error {
	if records := 1 + n*4 + w; o.kept != nil && records <= first {
		if err := o.kept.SaveSnapshot(ctx, writtenBy(0), snapshotOf(writtenBy(0), records)); err != nil {
			return err
		}
	}
	if o.values == nil || n >= 4 {
		return nil
	}
	id := fmt.Sprint("value-", n)
	return o.values.PutValue(ctx, writtenBy(0), id, valueOf(id, 150_000))
}

// look reads a run: it holds whole batches and no gap, and what they say and take.
func (o *onlooker) look(ctx context.Context, key checkpoint.Key) error {
	o.looked++
	before, err := o.store.Head(ctx, key)
	if err != nil {
		return err
	}
	var left []checkpoint.Message
	if o.inbox != nil {
		if left, err = o.inbox.Posted(ctx, key); err != nil {
			return err
		}
	}
	records, err := read(ctx, o.store, key, 1)
	if err != nil {
		return err
	}
	after, err := o.store.Head(ctx, key)
	if err != nil {
		return err
	}
	if n := (before.Last - first) / size; n > 0 && before.Header.Reason != fmt.Sprint(n) {
		return fmt.Errorf("run %q: the head has %d records, and is that of batch %s", key, before.Last, before.Header.Reason)
	}
	if end := first + (batches-len(left))*size; o.inbox != nil && (end < before.Last || end > after.Last) {
		return fmt.Errorf("run %q: %d messages are left, where it has between %d and %d records", key, len(left), before.Last, after.Last)
	}
	if n := len(records); (n-first)%size != 0 || n < before.Last || n > after.Last {
		return fmt.Errorf("run %q: %d records are read, where it has between %d and %d, %d at a time", key, n, before.Last, after.Last, size)
	}
	for i, r := range records {
		if want := numbered(i+1, 1)[0]; r.Seq != want.Seq || !bytes.Equal(r.Data, want.Data) {
			return fmt.Errorf("run %q: at %d: got record %d, %.80q", key, i, r.Seq, r.Data)
		}
	}
	return errors.Join(o.lookKept(ctx), o.lookValue(ctx, fmt.Sprint("value-", o.looked%4)))
}

// lookKept reads the snapshot: it is whole, and never of fewer records than before.
func (o *onlooker) lookKept(ctx context.Context) error {
	if o.kept == nil {
		return nil
	}
	got, err := o.kept.Snapshot(ctx, writtenBy(0))
	if errors.Is(err, checkpoint.ErrNotFound) && o.saved == 0 {
		return nil
	}
	if want := snapshotOf(writtenBy(0), got.Records); err == nil && (got.Records < o.saved || !bytes.Equal(got.Data, want.Data)) {
		err = fmt.Errorf("the snapshot is of %d records, %.80q, and was of %d", got.Records, got.Data, o.saved)
	}
	o.saved = got.Records
	return err
}

// lookValue reads a value: it is whole, or not there yet.
func (o *onlooker) lookValue(ctx context.Context, id string) error {
	if o.values == nil {
		return nil
	}
	want := valueOf(id, 150_000)
	got, _, err := o.values.ReadValue(ctx, writtenBy(0), id, 0, len(want))
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("value %s: got %d bytes, and not those that were put", id, len(got))
	}
	return err
}

// cancelled cancels Appends at any moment.
func cancelled(ctx context.Context, s checkpoint.Store) error {
	return brokenOff(ctx, s, 40, func(ctx context.Context, after time.Duration, appends func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, after)
		defer cancel()
		return appends(ctx)
	})
}

// brokenOff has Appends broken off after a while: then all of the batch is there, or nothing, and
// the very same Append makes up for what is not.
func brokenOff(ctx context.Context, s checkpoint.Store, times int, breaks func(context.Context, time.Duration, func(context.Context) error) error) error {
	const size = 4
	random := rand.New(rand.NewPCG(1, 2))
	p := newPair(ctx, s)
	usual := 100 * time.Microsecond
	for i := range times {
		key, began := named(fmt.Sprint("run ", i)), time.Now()
		if err := p.fill(key, large(1, size)); err != nil {
			return err
		}
		usual = max(usual, time.Since(began)/4)
		if err := optional(p.post(note(key, key.Run))); err != nil {
			return err
		}
		b := batch(key, large(1+size, size)...)
		b.Header.Reason, b.Taken = key.Run, []string{key.Run}
		before := p.model.text(ctx, key, false)
		if err := p.memory.Append(ctx, b); err != nil {
			return err
		}
		want := p.model.text(ctx, key, false)
		err := breaks(ctx, time.Duration(random.Int64N(int64(2*usual))), func(ctx context.Context) error { return s.Append(ctx, b) })
		if errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound) {
			return fmt.Errorf("an append that is broken off: %w", err)
		}
		got := p.store.text(ctx, key, false)
		if err != nil && got != before && got != want {
			got = p.store.text(ctx, key, false) // it came while it was read
		}
		if got != want && (err == nil || got != before) {
			return fmt.Errorf("after an append that was broken off: %s", difference(got, want))
		}
		err = p.same("the very same append, after it was broken off", func(v *view) (string, error) { return "", v.append(ctx, b) })
		if err := errors.Join(err, p.compare(key)); err != nil {
			return err
		}
	}
	return nil
}

// large returns records that take a while to write.
func large(first, n int) []checkpoint.Record {
	records := numbered(first, n)
	for i := range records {
		records[i].Data = []byte(strings.Repeat(string(records[i].Data), 1<<10))
	}
	return records
}

// leaseLasts takes leases for an hour and for two, and by an append.
func leaseLasts(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Leaser](s)
	if err != nil {
		return err
	}
	if err := fill(ctx, s, run, numbered(1, 2)); err != nil {
		return err
	}
	begun, err := s.Head(ctx, run)
	for i, hours := range []time.Duration{1, 2, 3} {
		h := begun
		if err == nil && i < 2 {
			h, err = l.Lease(ctx, run, owner, hours*time.Hour)
		} else if err == nil {
			b := by(batch(run, numbered(3, 1)...), owner, 2)
			b.Lease = hours * time.Hour
			err = s.Append(ctx, b)
			if err == nil {
				h, err = s.Head(ctx, run)
			}
		}
		if d := h.Lease.Until.Sub(begun.Updated) - hours*time.Hour; err == nil && (d < -time.Minute || d > time.Minute) {
			err = fmt.Errorf("a lease for %d hours is %s longer", hours, d)
		}
	}
	return err
}
