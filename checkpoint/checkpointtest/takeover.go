package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// owns is one of two owners of a run, by turns.
type owns struct {
	s      checkpoint.Store
	key    checkpoint.Key
	writer string
	epoch  int64
	stored int // records
	asked  int // appends
}

// step appends one record and says so in the header, behind whatever stands there.
func (o *owns) step(ctx context.Context) error {
	h, err := o.s.Head(ctx, o.key)
	if err != nil {
		return err
	}
	record := checkpoint.Record{Seq: h.Last + 1, Type: o.writer, Data: []byte(fmt.Sprint(o.stored))}
	b := by(batch(o.key, record), o.writer, o.epoch)
	b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning, Reason: o.writer}
	if o.asked++; o.asked%3 == 0 {
		b.Records = nil
	}
	if err := o.s.Append(ctx, b); err != nil {
		return err
	}
	o.stored += len(b.Records)
	return nil
}

// steps appends until it has stored so many records, or is fenced. That others come first is no
// matter to it: it looks again, and would go on for ever if its epoch did not stop it.
func (o *owns) steps(ctx context.Context, n int, began func()) error {
	for o.stored < n {
		err := o.step(ctx)
		time.Sleep(20 * time.Microsecond) // the other has its turn
		switch {
		case err == nil:
			began()
		case errors.Is(err, checkpoint.ErrFenced), !errors.Is(err, checkpoint.ErrConflict):
			return err
		}
	}
	return nil
}

// takenOver has one take a run over while another writes: it writes nothing more, however it looks
// what stands there.
func takenOver(ctx context.Context, s checkpoint.Store) error {
	for round := range 8 {
		if err := takeOverAmid(ctx, s, named(fmt.Sprint("run ", round))); err != nil {
			return fmt.Errorf("a run that is taken over while it is written: %w", err)
		}
	}
	return nil
}

func takeOverAmid(ctx context.Context, s checkpoint.Store, key checkpoint.Key) error {
	if err := fill(ctx, s, key, numbered(1, 1)); err != nil {
		return err
	}
	first, second := &owns{s: s, key: key, writer: "first", epoch: 1}, &owns{s: s, key: key, writer: "second", epoch: 2}
	var errs [2]error
	var written atomic.Int32
	var all sync.WaitGroup
	all.Go(func() {
		errs[0] = first.steps(ctx, 5000, func() { written.Add(1) })
	})
	all.Go(func() {
		for written.Load() < 4 && ctx.Err() == nil {
			time.Sleep(50 * time.Microsecond)
		}
		errs[1] = second.steps(ctx, 8, func() {})
	})
	all.Wait()
	if err := wraps(errs[0], checkpoint.ErrFenced, "the writer that was there first"); err != nil {
		return err
	}
	if errs[1] != nil {
		return fmt.Errorf("the writer that took it over: %w", errs[1])
	}
	h, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	if h.Header.Reason != second.writer || h.Epoch != 2 {
		return fmt.Errorf("the head is that of the %s writer, in epoch %d", h.Header.Reason, h.Epoch)
	}
	var want []checkpoint.Record
	for _, o := range []*owns{first, second} {
		for i := range o.stored {
			want = append(want, checkpoint.Record{Seq: 2 + len(want), Type: o.writer, Data: []byte(fmt.Sprint(i))})
		}
	}
	return expect(ctx, s, key, 2, want)
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
