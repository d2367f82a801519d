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
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

const (
	mostRecords = 256     // read at a time
	mostAtOnce  = 1 << 20 // bytes that are read at a time, and one record
)

// Read implements [checkpoint.Store]. It yields the records that the run had when
// ranging began.
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
	var fits bool
	err = s.reads.QueryRowContext(ctx, lastOfRun, key.Namespace, key.Run).Scan(&id, &last, &fits)
	if err == nil && !fits {
		return 0, 0, s.damaged(key)
	}
	return id, last, s.missing(ctx, key, err)
}

// missing converts an error of a query for a run: if there is no row, there is no run.
func (s *Store) missing(ctx context.Context, key checkpoint.Key, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
	case ctx.Err() != nil:
		return s.fault(key, ctx.Err())
	default:
		return s.fault(key, err)
	}
}

// some reads records from a place on: at least one, or it returns an error.
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

// record reads a row, which must be the record at a place.
func (s *Store) record(rows *sql.Rows, key checkpoint.Key, at int64) (r checkpoint.Record, err error) {
	var where, want int64
	r.Seq = int(at & math.MaxUint32)
	if err := rows.Scan(&where, &r.Type, &r.Data, &want); err != nil {
		return r, failure(&checkpoint.Error{Place: s.path, Key: key, Record: r.Seq, Kind: checkpoint.ErrCorrupt, Problem: "the record cannot be read", Err: err})
	}
	if where != at {
		return r, s.gap(key, r.Seq)
	}
	if int64(tables.Sum(key, strconv.Itoa(r.Seq), r.Type, r.Data)) != want {
		return r, failure(&checkpoint.Error{Place: s.path, Key: key, Record: r.Seq, Kind: checkpoint.ErrCorrupt, Problem: "the checksum of the record does not match"})
	}
	return r, nil
}

// each calls a function with each row of a query, until the function has enough or fails.
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

// gone returns why a run has no record at a place: the run was deleted meanwhile, or the record is
// missing.
func (s *Store) gone(ctx context.Context, key checkpoint.Key, id int64, at int) error {
	var there int
	err := s.reads.QueryRowContext(ctx, `SELECT 1 FROM runs WHERE id = ?`, id).Scan(&there)
	if err != nil {
		return s.missing(ctx, key, err)
	}
	return s.gap(key, at)
}

// gap reports that a record is missing.
func (s *Store) gap(key checkpoint.Key, seq int) error {
	return failure(&checkpoint.Error{Place: s.path, Key: key, Record: seq, Kind: checkpoint.ErrCorrupt, Problem: "the record is missing"})
}

// place returns the primary key of a record: the id of its run, and its place in the journal.
func place(id int64, seq int) int64 { return id<<32 | int64(seq) }

// columns are the columns of runs that make a head, in the order of headRow.into.
const columns = `r.namespace, r.run, r.last, r.epoch, r.created, r.updated, r.lease_writer, r.lease_until, r.recoveries, r.header, r.sum, ` + stands

// headRow is a row of these columns.
type headRow struct {
	head                             checkpoint.Head
	created, updated, until, wantSum int64
	header                           string
	stands                           bool
}

func (r *headRow) into() []any {
	h := &r.head
	return []any{
		&h.Key.Namespace, &h.Key.Run, &h.Last, &h.Epoch, &r.created, &r.updated,
		&h.Lease.Writer, &r.until, &h.Recoveries, &r.header, &r.wantSum, &r.stands,
	}
}

// whole checks a row, and returns its head.
func (s *Store) whole(r *headRow) (h checkpoint.Head, err error) {
	h = r.head
	h.Created, h.Updated = time.Unix(0, r.created), time.Unix(0, r.updated)
	if r.until != 0 {
		h.Lease.Until = time.Unix(0, r.until)
	}
	if !r.stands {
		return checkpoint.Head{}, s.damaged(h.Key)
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
			return false, fmt.Errorf("the row of a head cannot be read: %w", err)
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
