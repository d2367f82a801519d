package checkpointtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
)

// again takes a cursor through its text.
func again(c checkpoint.Cursor) (checkpoint.Cursor, error) {
	text, err := c.MarshalText()
	if err != nil {
		return c, err
	}
	var read checkpoint.Cursor
	return read, read.UnmarshalText(text)
}

// pages goes through a list, by cursors that went through their texts. between is called behind
// each page.
func pages(ctx context.Context, l checkpoint.Lister, q checkpoint.Query, between func(checkpoint.Page) error) ([]checkpoint.Head, error) {
	var all []checkpoint.Head
	for {
		page, err := l.List(ctx, q)
		if err != nil {
			return all, fmt.Errorf("list of %+v: %w", q, err)
		}
		if len(page.Heads) > q.Most() {
			return all, fmt.Errorf("list of %+v: got %d runs, want %d at most", q, len(page.Heads), q.Most())
		}
		all = append(all, page.Heads...)
		if page.Next.IsZero() {
			return all, nil
		}
		if len(page.Heads) == 0 {
			return all, fmt.Errorf("list of %+v: a page without runs says that there are more", q)
		}
		if err := between(page); err != nil {
			return all, err
		}
		if q.After, err = again(page.Next); err != nil {
			return all, err
		}
	}
}

func nothingBetween(checkpoint.Page) error { return nil }

// pagingAmidChanges goes through a list while runs are created and deleted.
func pagingAmidChanges(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Lister](s)
	if err != nil {
		return err
	}
	for i := range 24 {
		if err := fill(ctx, s, named(fmt.Sprintf("m %02d", i*7%24)), numbered(1, 1)); err != nil {
			return err
		}
	}
	all, err := l.List(ctx, checkpoint.Query{})
	if err != nil {
		return err
	}
	stays := map[checkpoint.Key]int{}
	for _, h := range all.Heads {
		stays[h.Key] = 0
	}
	p, deletes := checkpoint.As[checkpoint.Pruner](s)
	created := 0
	got, err := pages(ctx, l, checkpoint.Query{Limit: 5}, func(page checkpoint.Page) error {
		for range 2 {
			created++
			if err := fill(ctx, s, named(fmt.Sprint("a new one ", created)), numbered(1, 1)); err != nil {
				return err
			}
		}
		if !deletes {
			return nil
		}
		gone := page.Heads[len(page.Heads)-1].Key // the one that the cursor names
		delete(stays, gone)
		return p.Delete(ctx, gone)
	})
	if err != nil {
		return err
	}
	for _, h := range got {
		if n, ok := stays[h.Key]; ok {
			stays[h.Key] = n + 1
		}
	}
	for key, n := range stays {
		if n != 1 {
			return fmt.Errorf("a list of 5 runs a page, while runs are created and deleted, has run %q %d times, want once", key, n)
		}
	}
	return inOrder(got)
}

// limits lists more runs than a page has.
func limits(ctx context.Context, s checkpoint.Store) error {
	const runs, writers = 1008, 8
	l, err := able[checkpoint.Lister](s)
	if err != nil {
		return err
	}
	if err := errors.Join(atOnce(writers, func(w int) error {
		for i := w; i < runs; i += writers {
			if err := fill(ctx, s, named(fmt.Sprint("run ", i)), numbered(1, 1)); err != nil {
				return err
			}
		}
		return nil
	})...); err != nil {
		return err
	}
	for _, limit := range []struct{ asked, want int }{{0, 100}, {-1, 100}, {1, 1}, {999, 999}, {1000, 1000}, {1001, 1000}, {1 << 30, 1000}} {
		page, err := l.List(ctx, checkpoint.Query{Limit: limit.asked})
		if err != nil {
			return err
		}
		if len(page.Heads) != limit.want || page.Next.IsZero() {
			return fmt.Errorf("list of %d runs with the limit %d: got %d, want %d, and a cursor", runs, limit.asked, len(page.Heads), limit.want)
		}
	}
	got, err := pages(ctx, l, checkpoint.Query{Limit: 5000}, nothingBetween)
	if err == nil && len(got) != runs {
		err = fmt.Errorf("list of %d runs, page by page: got %d", runs, len(got))
	}
	return err
}
