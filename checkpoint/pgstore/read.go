package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
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
					err = fault(ctx, s.place, key, ctx.Err())
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

// found calls a function that looks for a run, with a connection. The error wraps ErrNotFound if
// the function finds no row, or if the key is invalid.
func (s *Store) found(ctx context.Context, key checkpoint.Key, what func(*pgx.Conn) error) error {
	return s.do(ctx, key, func(conn *pgx.Conn) error {
		if key.Check() != nil {
			return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
		}
		err := what(conn)
		if errors.Is(err, pgx.ErrNoRows) {
			return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
		}
		return err
	})
}

// span returns the id of a run and the place of its last record.
func (s *Store) span(ctx context.Context, key checkpoint.Key) (id int64, last int, err error) {
	const text = `SELECT r.id, ` + columns + ` FROM runs r WHERE namespace = $1 AND run = $2`
	var row headRow
	err = s.found(ctx, key, func(conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, text, key.Namespace, key.Run).Scan(append([]any{&id}, row.into()...)...)
		if err == nil && row.stand != row.wantStand() {
			return s.damaged(key)
		}
		return err
	})
	return id, row.head.Last, err
}

// someRecords reads the records of a run between two places, to the record with which they have too
// many bytes.
const someRecords = `SELECT seq, crc, type, data FROM (
	SELECT seq, crc, type, data, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before
	FROM records WHERE run = $1 AND seq BETWEEN $2 AND $3
) AS r WHERE before < $4 ORDER BY seq`

// some reads records from a place on: at least one, or it returns an error.
func (s *Store) some(ctx context.Context, key checkpoint.Key, id int64, at, last int) (some []checkpoint.Record, err error) {
	err = s.found(ctx, key, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, someRecords, id, at, min(last, at+mostRecords-1), mostAtOnce)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var seq int
			var want int32
			r := checkpoint.Record{Seq: at + len(some)}
			if err := rows.Scan(&seq, &want, &r.Type, &r.Data); err != nil {
				return err
			}
			if seq != r.Seq {
				return s.gap(key, r.Seq)
			}
			if sum(key, strconv.Itoa(r.Seq), r.Type, r.Data) != want {
				return failure(&checkpoint.Error{Place: s.place, Key: key, Record: r.Seq, Kind: checkpoint.ErrCorrupt, Problem: "the checksum of the record does not match"})
			}
			some = append(some, r)
		}
		if err := rows.Err(); err != nil || len(some) > 0 {
			return err
		}
		var there bool
		if err := conn.QueryRow(ctx, `SELECT true FROM runs WHERE id = $1`, id).Scan(&there); err != nil {
			return err // the run was deleted meanwhile
		}
		return s.gap(key, at)
	})
	return some, err
}

// gap reports that a record is missing.
func (s *Store) gap(key checkpoint.Key, seq int) error {
	return failure(&checkpoint.Error{Place: s.place, Key: key, Record: seq, Kind: checkpoint.ErrCorrupt, Problem: "the record is missing"})
}

// columns are the columns of runs that make a head.
const columns = `r.namespace, r.run, r.last, r.epoch, r.created, r.updated, r.lease_writer, r.lease_until, r.recoveries, r.header, r.crc, r.stand`

// headRow is a row of these columns.
type headRow struct {
	head   checkpoint.Head
	until  *time.Time
	header []byte
	crc    int32
	stand  [16]byte
}

func (r *headRow) into() []any {
	h := &r.head
	return []any{
		&h.Key.Namespace, &h.Key.Run, &h.Last, &h.Epoch, &h.Created, &h.Updated,
		&h.Lease.Writer, &r.until, &h.Recoveries, &r.header, &r.crc, &r.stand,
	}
}

// wantStand returns the checksum of where the run stands, as the function stand_4 does.
func (r *headRow) wantStand() [16]byte {
	h, until := &r.head, int64(0)
	if r.until != nil {
		until = r.until.UnixMicro()
	}
	sum := sha256.Sum256(fmt.Append(nil, h.Last, h.Epoch, h.Recoveries, until, " ", h.Lease.Writer, " ", h.Key.Namespace, " ", h.Key.Run))
	return [16]byte(sum[:16])
}

// damaged is the error of a run whose row does not fit its checksum.
func (s *Store) damaged(key checkpoint.Key) error {
	return s.corrupt(key, "the checksum of where the run stands (last, epoch, lease) does not match")
}

// whole checks a row, and returns its head.
func (s *Store) whole(r *headRow) (checkpoint.Head, error) {
	h := r.head
	if r.stand != r.wantStand() {
		return checkpoint.Head{}, s.damaged(h.Key)
	}
	if sum(h.Key, "head", "", r.header) != r.crc {
		return checkpoint.Head{}, s.corrupt(h.Key, "the checksum of the run's head does not match")
	}
	if err := json.Unmarshal(r.header, &h.Header); err != nil {
		return checkpoint.Head{}, failure(&checkpoint.Error{Place: s.place, Key: h.Key, Kind: checkpoint.ErrCorrupt, Problem: "the head of the run cannot be read", Err: err})
	}
	if r.until != nil {
		h.Lease.Until = *r.until
	}
	return h, nil
}

// Head implements [checkpoint.Store].
func (s *Store) Head(ctx context.Context, key checkpoint.Key) (h checkpoint.Head, err error) {
	const text = `SELECT ` + columns + ` FROM runs r WHERE namespace = $1 AND run = $2`
	err = s.found(ctx, key, func(conn *pgx.Conn) error {
		var row headRow
		if err := conn.QueryRow(ctx, text, key.Namespace, key.Run).Scan(row.into()...); err != nil {
			return err
		}
		h, err = s.whole(&row)
		return err
	})
	return h, err
}
