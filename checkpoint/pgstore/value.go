package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
)

// partSize is how many bytes each part of a value has, but the last. It is a number of the schema.
const partSize = 64 << 10

const (
	putValue  = `SELECT value_4($1, $2, $3, $4, $5, $6, $7)`
	readValue = `SELECT r.id, v.size, v.crc FROM runs r JOIN run_values v ON v.run = r.id
		WHERE r.namespace = $1 AND r.run = $2 AND v.id = $3`
	readParts = `SELECT part, crc, data FROM value_parts WHERE run = $1 AND id = $2 AND part BETWEEN $3 AND $4 ORDER BY part`
	hasValue  = `SELECT 1 FROM run_values WHERE run = $1 AND id = $2`
	allValues = `SELECT v.id, v.size, v.crc FROM runs r JOIN run_values v ON v.run = r.id
		WHERE r.namespace = $1 AND r.run = $2 ORDER BY v.id`
)

// PutValue implements [checkpoint.ValueStore]. A value may have 512 MiB.
func (s *Store) PutValue(ctx context.Context, key checkpoint.Key, id string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return fault(ctx, s.place, key, err)
	}
	if err := errors.Join(key.Check(), checkpoint.CheckValue(id)); err != nil {
		return err
	}
	size := int64(len(data))
	if size > mostBytes {
		return failure(&checkpoint.Error{Place: s.place, Key: key, Kind: checkpoint.ErrTooLarge})
	}
	parts, crcs := [][]byte{}, []int32{}
	for part := 0; len(data) > 0; part++ {
		n := min(len(data), partSize)
		parts, crcs = append(parts, data[:n]), append(crcs, sumOfPart(key, id, part, data[:n]))
		data = data[n:]
	}
	return s.do(ctx, key, func(conn *pgx.Conn) error {
		var there bool
		err := conn.QueryRow(ctx, putValue, key.Namespace, key.Run, id, size, sumOfValue(key, id, size), crcs, parts).Scan(&there)
		if err != nil {
			return err
		}
		if !there {
			return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
		}
		return nil
	})
}

// ReadValue implements [checkpoint.ValueStore]. It reads the parts of 64 KiB that the bytes are in.
func (s *Store) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) ([]byte, int64, error) {
	missing := &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key, Problem: fmt.Sprintf("value %.64q", id)}
	if ctx.Err() == nil && (key.Check() != nil || checkpoint.CheckValue(id) != nil) {
		return nil, 0, missing
	}
	var data []byte
	var size int64
	err := s.do(ctx, key, func(conn *pgx.Conn) error {
		var run int64
		var want int32
		err := conn.QueryRow(ctx, readValue, key.Namespace, key.Run, id).Scan(&run, &size, &want)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return missing
		case err != nil:
			return err
		case sumOfValue(key, id, size) != want:
			return s.damagedValue(key, id)
		}
		first, end := checkpoint.Span(size, offset, length)
		if first == end {
			return nil
		}
		data, err = s.parts(ctx, conn, key, &valueSpan{run: run, id: id, size: size, first: first, end: end})
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return data, size, nil
}

// valueSpan is a range of a value, which is not empty.
type valueSpan struct {
	run              int64
	id               string
	size, first, end int64
}

// parts reads the bytes of a range.
func (s *Store) parts(ctx context.Context, conn *pgx.Conn, key checkpoint.Key, v *valueSpan) ([]byte, error) {
	data := make([]byte, 0, v.end-v.first)
	next, last := v.first/partSize, (v.end-1)/partSize
	rows, err := conn.Query(ctx, readParts, v.run, v.id, next, last)
	if err != nil {
		return nil, err
	}
	var part int64
	var want int32
	var bytes []byte
	_, err = pgx.ForEachRow(rows, []any{&part, &want, &bytes}, func() error {
		begin := part * partSize
		if part != next || int64(len(bytes)) != min(partSize, v.size-begin) || sumOfPart(key, v.id, int(part), bytes) != want {
			return s.damagedValue(key, v.id)
		}
		data = append(data, bytes[max(0, v.first-begin):min(int64(len(bytes)), v.end-begin)]...)
		next++
		return nil
	})
	if err != nil || next == last+1 {
		return data, err
	}
	return nil, s.lostParts(ctx, conn, key, v)
}

// lostParts returns why parts are missing: the run was deleted meanwhile, or they are damaged.
func (s *Store) lostParts(ctx context.Context, conn *pgx.Conn, key checkpoint.Key, v *valueSpan) error {
	var there int
	err := conn.QueryRow(ctx, hasValue, v.run, v.id).Scan(&there)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key, Problem: fmt.Sprintf("value %.64q", v.id)}
	case err != nil:
		return err
	default:
		return s.damagedValue(key, v.id)
	}
}

// Values implements [checkpoint.ValueStore].
func (s *Store) Values(ctx context.Context, key checkpoint.Key) (list []checkpoint.Value, err error) {
	if ctx.Err() == nil && key.Check() != nil { // there is no such run
		return nil, nil //nolint:nilerr // as the contract says
	}
	err = s.do(ctx, key, func(conn *pgx.Conn) error {
		list = nil
		rows, err := conn.Query(ctx, allValues, key.Namespace, key.Run)
		if err != nil {
			return err
		}
		var v checkpoint.Value
		var want int32
		_, err = pgx.ForEachRow(rows, []any{&v.ID, &v.Size, &want}, func() error {
			if sumOfValue(key, v.ID, v.Size) != want {
				return s.damagedValue(key, v.ID)
			}
			list = append(list, v)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s *Store) damagedValue(key checkpoint.Key, id string) error {
	problem := "the checksum of the run's value " + strconv.Quote(id) + " does not match, or a part of it is missing"
	return failure(&checkpoint.Error{Place: s.place, Key: key, Kind: checkpoint.ErrCorrupt, Problem: problem})
}

func sumOfValue(key checkpoint.Key, id string, size int64) int32 {
	return sum(key, "value "+id, strconv.FormatInt(size, 10), nil)
}

func sumOfPart(key checkpoint.Key, id string, part int, data []byte) int32 {
	return sum(key, "part of value "+id, strconv.Itoa(part), data)
}
