package sqlitestore

import (
	"context"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// Lease implements [checkpoint.Leaser]. Times are those of the machine's clock.
func (s *Store) Lease(ctx context.Context, key checkpoint.Key, holder string, d time.Duration) (checkpoint.Head, error) {
	if err := s.enter(ctx, key); err != nil {
		return checkpoint.Head{}, err
	}
	defer s.open.RUnlock()
	if err := key.Check(); err != nil {
		return checkpoint.Head{}, err
	}
	var head checkpoint.Head
	err := s.write(ctx, &job{key: key, do: func(w *writer) (err error) {
		head, err = s.lease(w, key, holder, d)
		return err
	}})
	if err != nil {
		return checkpoint.Head{}, err
	}
	return head, nil
}

const (
	wholeRun = `SELECT ` + columns + ` FROM runs r WHERE namespace = ? AND run = ?`
	leaseRun = `UPDATE runs SET epoch = ?, lease_writer = ?, lease_until = ?, recoveries = ? WHERE namespace = ? AND run = ?`
)

// lease takes, extends or ends a lease within a transaction.
func (s *Store) lease(w *writer, key checkpoint.Key, holder string, d time.Duration) (checkpoint.Head, error) {
	var row headRow
	found, err := w.row(wholeRun, []any{key.Namespace, key.Run}, row.into()...)
	if err != nil {
		return checkpoint.Head{}, err
	}
	if !found {
		return checkpoint.Head{}, refused{&checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}}
	}
	h, err := s.whole(&row)
	if err != nil {
		return checkpoint.Head{}, err
	}
	now := s.now()
	switch mine := h.Lease.Writer == holder; {
	case d <= 0 && !mine:
		return h, nil
	case d <= 0:
		h.Lease = checkpoint.Lease{}
	case mine:
		h.Lease.Until = time.Unix(0, tables.Nanos(now.Add(d)))
	case h.Lease.Until.After(now):
		return checkpoint.Head{}, refused{&checkpoint.Error{Kind: checkpoint.ErrLeased, Key: key, Until: h.Lease.Until}}
	default:
		if h.Lease.Writer != "" {
			h.Recoveries++
		}
		h.Epoch++
		h.Lease = checkpoint.Lease{Writer: holder, Until: time.Unix(0, tables.Nanos(now.Add(d)))}
	}
	until := int64(0)
	if !h.Lease.Until.IsZero() {
		until = h.Lease.Until.UnixNano()
	}
	if err := w.exec(leaseRun, h.Epoch, h.Lease.Writer, until, h.Recoveries, key.Namespace, key.Run); err != nil {
		return h, err
	}
	return h, w.stand(key)
}
