package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

const (
	mostRecords = 256     // read at a time
	mostAtOnce  = 1 << 20 // bytes that are read at a time, and one record
)

// Read implements [checkpoint.Store]. It reads what was there when ranging began.
func (s *Store) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		id, last, err := s.span(ctx, key)
		for at := max(from, 1); err == nil && at <= last; {
			var some []checkpoint.Record
			some, err = s.some(ctx, key, id, at, last)
			for _, r := range some {
				if ctx.Err() != nil {
					err = s.fault(key, ctx.Err())
					break
				}
				if !yield(r, nil) {
					return
				}
			}
			at += len(some)
		}
		if err != nil {
			yield(checkpoint.Record{}, err)
		}
	}
}

// span returns the id of a run and the place of its last record.
func (s *Store) span(ctx context.Context, key checkpoint.Key) (id int64, last int, err error) {
	if err := s.enter(ctx, key); err != nil {
		return 0, 0, err
	}
	defer s.open.RUnlock()
	err = s.reads.QueryRowContext(ctx, lastOfRun, key.Namespace, key.Run).Scan(&id, &last)
	return id, last, s.missing(ctx, key, err)
}

// missing says that there is no run where there is no row.
func (s *Store) missing(ctx context.Context, key checkpoint.Key, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return &checkpoint.NotFoundError{Key: key}
	case ctx.Err() != nil:
		return s.fault(key, ctx.Err())
	default:
		return s.fault(key, err)
	}
}

// some reads records from a place on: at least one, unless there is an error.
func (s *Store) some(ctx context.Context, key checkpoint.Key, id int64, at, last int) (some []checkpoint.Record, err error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, err
	}
	defer s.open.RUnlock()
	const text = `SELECT place, type, data, sum FROM records WHERE place BETWEEN ? AND ? ORDER BY place LIMIT ?`
	bytes := 0
	err = s.each(ctx, text, []any{place(id, at), place(id, last), mostRecords}, func(rows *sql.Rows) (enough bool, err error) {
		r, err := s.record(rows, key, place(id, at+len(some)))
		if err == nil {
			some = append(some, r)
			bytes += len(r.Data)
		}
		return bytes >= mostAtOnce, err
	})
	switch {
	case err != nil:
		return some, s.missing(ctx, key, err)
	case len(some) == 0:
		return nil, s.gone(ctx, key, id, at)
	default:
		return some, nil
	}
}

// record reads the row of a record, which has to stand at a place.
func (s *Store) record(rows *sql.Rows, key checkpoint.Key, at int64) (r checkpoint.Record, err error) {
	var where, want int64
	r.Seq = int(at & math.MaxUint32)
	if err := rows.Scan(&where, &r.Type, &r.Data, &want); err != nil {
		return r, &Error{Path: s.path, Key: key, Record: r.Seq, Kind: ErrCorrupt, Problem: "it cannot be read", Err: err}
	}
	if where != at {
		return r, s.gap(key, r.Seq)
	}
	if int64(sum(key, strconv.Itoa(r.Seq), r.Type, r.Data)) != want {
		return r, &Error{Path: s.path, Key: key, Record: r.Seq, Kind: ErrCorrupt, Problem: "its checksum does not hold"}
	}
	return r, nil
}

// each calls a function with each row of a query, until it has enough or fails.
func (s *Store) each(ctx context.Context, text string, args []any, do func(*sql.Rows) (enough bool, err error)) (err error) {
	rows, err := s.reads.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for enough := false; !enough && rows.Next(); {
		if enough, err = do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// gone says why a run has no record where it should: it was deleted meanwhile, or the file is
// damaged.
func (s *Store) gone(ctx context.Context, key checkpoint.Key, id int64, at int) error {
	var there int
	err := s.reads.QueryRowContext(ctx, `SELECT 1 FROM runs WHERE id = ?`, id).Scan(&there)
	if err != nil {
		return s.missing(ctx, key, err)
	}
	return s.gap(key, at)
}

func (s *Store) gap(key checkpoint.Key, seq int) error {
	return &Error{Path: s.path, Key: key, Record: seq, Kind: ErrCorrupt, Problem: "it is not there, although the run has come further"}
}

// place returns where a record stands.
func place(id int64, seq int) int64 { return id<<32 | int64(seq) }

// columns are those of runs that make a head, in the order of headRow.into.
const columns = `r.namespace, r.run, r.last, r.epoch, r.created, r.updated, r.lease_writer, r.lease_until, r.recoveries, r.header, r.sum`

// headRow is a row of columns.
type headRow struct {
	head                             checkpoint.Head
	created, updated, until, wantSum int64
	header                           string
}

func (r *headRow) into() []any {
	h := &r.head
	return []any{
		&h.Key.Namespace, &h.Key.Run, &h.Last, &h.Epoch, &r.created, &r.updated,
		&h.Lease.Writer, &r.until, &h.Recoveries, &r.header, &r.wantSum,
	}
}

// whole returns the head of a row.
func (s *Store) whole(r *headRow) (h checkpoint.Head, err error) {
	h = r.head
	h.Created, h.Updated = time.Unix(0, r.created), time.Unix(0, r.updated)
	if r.until != 0 {
		h.Lease.Until = time.Unix(0, r.until)
	}
	h.Header, err = s.header(h.Key, r.header, r.wantSum)
	if err != nil {
		return checkpoint.Head{}, err
	}
	return h, nil
}

// Head implements [checkpoint.Store].
func (s *Store) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	if err := s.enter(ctx, key); err != nil {
		return checkpoint.Head{}, err
	}
	defer s.open.RUnlock()
	const text = `SELECT ` + columns + ` FROM runs r WHERE namespace = ? AND run = ?`
	var row headRow
	err := s.reads.QueryRowContext(ctx, text, key.Namespace, key.Run).Scan(row.into()...)
	if err != nil {
		return checkpoint.Head{}, s.missing(ctx, key, err)
	}
	return s.whole(&row)
}

// listed is a run of a list: its head or, if that is damaged, where it stands.
type listed struct {
	head   checkpoint.Head
	damage error
}

// heads reads rows of columns.
func (s *Store) heads(ctx context.Context, text string, args []any) (list []listed, err error) {
	err = s.each(ctx, text, args, func(rows *sql.Rows) (bool, error) {
		var row headRow
		if err := rows.Scan(row.into()...); err != nil {
			return false, fmt.Errorf("the row of a head: %w", err)
		}
		h, damage := s.whole(&row)
		if damage != nil {
			h = checkpoint.Head{Key: row.head.Key, Created: time.Unix(0, row.created)}
		}
		list = append(list, listed{h, damage})
		return false, nil
	})
	return list, err
}
