package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

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
	p := &posted{s: s}
	p.in, _ = checkpoint.As[checkpoint.Inbox](s)
	began := time.Now()
	b := batch(run, large(1, size)...)
	if err := put(ctx, s, b); err != nil {
		return err
	}
	usual := max(time.Since(began), 100*time.Microsecond)
	for i := range times {
		message := fmt.Sprint(i)
		if p.in != nil {
			if err := p.post(ctx, run, message); err != nil {
				return err
			}
		}
		next := (i+1)*size + 1
		b.Records, b.Taken = large(next, size), []string{message}
		b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning, Reason: message}
		err := breaks(ctx, time.Duration(random.Int64N(int64(2*usual))), func(ctx context.Context) error { return s.Append(ctx, b) })
		if errors.Is(err, checkpoint.ErrConflict) || errors.Is(err, checkpoint.ErrNotFound) {
			return fmt.Errorf("an append that is broken off: %w", err)
		}
		if err := p.allOrNothing(ctx, b, err == nil); err != nil {
			return fmt.Errorf("after an append that was broken off: %w", err)
		}
		if err := put(ctx, s, b); err != nil {
			return fmt.Errorf("the very same append, after it was broken off: %w", err)
		}
		if err := p.allOrNothing(ctx, b, true); err != nil {
			return fmt.Errorf("after the very same append: %w", err)
		}
	}
	return expect(ctx, s, run, 1, large(1, size*(times+1)))
}

// allOrNothing reads whether a batch is there. It is read from its first record to its end in one
// go; what stands in the head and the inbox may come meanwhile, but not go.
func (p *posted) allOrNothing(ctx context.Context, b checkpoint.Batch, there bool) error {
	first := b.Records[0].Seq
	got, err := read(ctx, p.s, b.Key, first)
	if err != nil {
		return err
	}
	if n := len(got); n != 0 && n != len(b.Records) || there && n == 0 {
		return fmt.Errorf("%d of %d records are there", n, len(b.Records))
	}
	if len(got) == 0 {
		return nil
	}
	if err := expect(ctx, p.s, b.Key, first, b.Records); err != nil {
		return err
	}
	h, err := p.s.Head(ctx, b.Key)
	if err != nil {
		return err
	}
	if h.Last != first+len(b.Records)-1 || h.Header.Reason != b.Header.Reason {
		return fmt.Errorf("the records to %d are there, but the head is %s", first+len(b.Records)-1, form(h))
	}
	if p.in == nil {
		return nil
	}
	return p.expect(ctx, b.Key)
}

// large returns records that take a while to write.
func large(first, n int) []checkpoint.Record {
	records := numbered(first, n)
	for i := range records {
		records[i].Data = []byte(strings.Repeat(string(records[i].Data), 1<<10))
	}
	return records
}
