package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/segue-go/segue/checkpoint"
)

// partSize is how many bytes each part of a value has, but the last. It is a number of the file.
const partSize = 64 << 10

const (
	hasValue  = `SELECT 1 FROM run_values WHERE run = ? AND id = ?`
	addValue  = `INSERT INTO run_values (run, id, size, sum) VALUES (?, ?, ?, ?)`
	addPart   = `INSERT INTO value_parts (run, id, part, data, sum) VALUES (?, ?, ?, ?, ?)`
	readValue = `SELECT r.id, v.size, v.sum FROM runs r CROSS JOIN run_values v ON v.run = r.id
		WHERE r.namespace = ? AND r.run = ? AND v.id = ?`
	readParts  = `SELECT part, data, sum FROM value_parts WHERE run = ? AND id = ? AND part BETWEEN ? AND ? ORDER BY part`
	listValues = `SELECT v.id, v.size, v.sum FROM runs r CROSS JOIN run_values v ON v.run = r.id
		WHERE r.namespace = ? AND r.run = ? ORDER BY v.id`
)

// PutValue implements [checkpoint.ValueStore].
func (s *Store) PutValue(ctx context.Context, key checkpoint.Key, id string, data []byte) error {
	if err := s.enter(ctx, key); err != nil {
		return err
	}
	defer s.open.RUnlock()
	if err := errors.Join(key.Check(), checkpoint.CheckValue(id)); err != nil {
		return err
	}
	return s.write(ctx, &job{key: key, bytes: len(data), do: func(w *writer) error { return putValue(w, key, id, data) }})
}

// putValue stores a value within a transaction.
func putValue(w *writer, key checkpoint.Key, id string, data []byte) error {
	var run int64
	var there int
	found, err := w.row(findRun, []any{key.Namespace, key.Run}, &run)
	if err != nil {
		return err
	}
	if !found {
		return refused{&checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}}
	}
	if found, err = w.row(hasValue, []any{run, id}, &there); err != nil || found {
		return err
	}
	if err := w.exec(addValue, run, id, len(data), int64(sumOfValue(key, id, int64(len(data))))); err != nil {
		return err
	}
	for part := 0; len(data) > 0; part++ {
		n := min(len(data), partSize)
		if err := w.exec(addPart, run, id, part, data[:n], int64(sumOfPart(key, id, part, data[:n]))); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// ReadValue implements [checkpoint.ValueStore]. It reads the parts of 64 KiB that the bytes are in.
func (s *Store) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) ([]byte, int64, error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, 0, err
	}
	defer s.open.RUnlock()
	var run, size, want int64
	err := s.reads.QueryRowContext(ctx, readValue, key.Namespace, key.Run, id).Scan(&run, &size, &want)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key, Problem: fmt.Sprintf("value %.64q", id)}
	}
	if err != nil {
		return nil, 0, s.missing(ctx, key, err)
	}
	if int64(sumOfValue(key, id, size)) != want {
		return nil, 0, s.damagedValue(key, id)
	}
	first, end := checkpoint.Span(size, offset, length)
	if first == end {
		return nil, size, nil
	}
	data, err := s.parts(ctx, key, &valueSpan{run: run, id: id, size: size, first: first, end: end})
	if err != nil {
		return nil, 0, s.missing(ctx, key, err)
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
func (s *Store) parts(ctx context.Context, key checkpoint.Key, v *valueSpan) ([]byte, error) {
	data := make([]byte, 0, v.end-v.first)
	next, last := v.first/partSize, (v.end-1)/partSize
	err := s.each(ctx, readParts, []any{v.run, v.id, next, last}, func(rows *sql.Rows) (bool, error) {
		var part, want int64
		var bytes sql.RawBytes
		if err := rows.Scan(&part, &bytes, &want); err != nil {
			return false, err
		}
		begin := part * partSize
		if part != next || int64(len(bytes)) != min(partSize, v.size-begin) || int64(sumOfPart(key, v.id, int(part), bytes)) != want {
			return false, s.damagedValue(key, v.id)
		}
		data = append(data, bytes[max(0, v.first-begin):min(int64(len(bytes)), v.end-begin)]...)
		next++
		return false, nil
	})
	if err == nil && next != last+1 {
		err = s.lostParts(ctx, key, v)
	}
	return data, err
}

// lostParts returns why parts are missing: the run was deleted meanwhile, or they are damaged.
func (s *Store) lostParts(ctx context.Context, key checkpoint.Key, v *valueSpan) error {
	var there int
	err := s.reads.QueryRowContext(ctx, hasValue, v.run, v.id).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key, Problem: fmt.Sprintf("value %.64q", v.id)}
	}
	if err != nil {
		return err
	}
	return s.damagedValue(key, v.id)
}

// Values implements [checkpoint.ValueStore].
func (s *Store) Values(ctx context.Context, key checkpoint.Key) (list []checkpoint.Value, err error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, err
	}
	defer s.open.RUnlock()
	err = s.each(ctx, listValues, []any{key.Namespace, key.Run}, func(rows *sql.Rows) (bool, error) {
		var v checkpoint.Value
		var want int64
		if err := rows.Scan(&v.ID, &v.Size, &want); err != nil {
			return false, err
		}
		if int64(sumOfValue(key, v.ID, v.Size)) != want {
			return false, s.damagedValue(key, v.ID)
		}
		list = append(list, v)
		return false, nil
	})
	if err != nil {
		return nil, s.missing(ctx, key, err)
	}
	return list, nil
}

func (s *Store) damagedValue(key checkpoint.Key, id string) error {
	problem := "the checksum of the run's value " + strconv.Quote(id) + " does not match, or a part of it is missing"
	return failure(&checkpoint.Error{Place: s.path, Key: key, Kind: checkpoint.ErrCorrupt, Problem: problem})
}

func sumOfValue(key checkpoint.Key, id string, size int64) uint32 {
	return sum(key, "value "+id, strconv.FormatInt(size, 10), nil)
}

func sumOfPart(key checkpoint.Key, id string, part int, data []byte) uint32 {
	return sum(key, "part of value "+id, strconv.Itoa(part), data)
}
