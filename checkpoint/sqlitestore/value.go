package sqlitestore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

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
	if err := w.exec(addValue, run, id, len(data), tables.SumOfValue(key, id, int64(len(data)))); err != nil {
		return err
	}
	for p := range tables.Parts(key, id, data) {
		if err := w.exec(addPart, run, id, p.Number, p.Data, p.Sum); err != nil {
			return err
		}
	}
	return nil
}

// ReadValue implements [checkpoint.ValueStore]. It reads the parts of 64 KiB that the bytes are in.
func (s *Store) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) ([]byte, int64, error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, 0, err
	}
	defer s.open.RUnlock()
	data, size, err := s.values(ctx, key).Read(id, offset, length)
	if err != nil {
		return nil, 0, s.missing(ctx, key, err)
	}
	return data, size, nil
}

// values returns the values of a run.
func (s *Store) values(ctx context.Context, key checkpoint.Key) *tables.Values {
	return &tables.Values{
		Key:     key,
		Corrupt: func(problem string) error { return s.corrupt(key, problem) },
		Row: func(id string) (v tables.Value, found bool, err error) {
			v.ID = id
			err = s.reads.QueryRowContext(ctx, readValue, key.Namespace, key.Run, id).Scan(&v.Run, &v.Size, &v.Sum)
			if errors.Is(err, sql.ErrNoRows) {
				return v, false, nil
			}
			return v, err == nil, err
		},
		Parts: func(v *tables.Value, first, last int64, each func(tables.Part) error) error {
			return s.each(ctx, readParts, []any{v.Run, v.ID, first, last}, func(rows *sql.Rows) (bool, error) {
				var p tables.Part
				if err := rows.Scan(&p.Number, (*sql.RawBytes)(&p.Data), &p.Sum); err != nil {
					return false, err
				}
				return false, each(p)
			})
		},
	}
}

// Values implements [checkpoint.ValueStore].
func (s *Store) Values(ctx context.Context, key checkpoint.Key) (list []checkpoint.Value, err error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, err
	}
	defer s.open.RUnlock()
	values := s.values(ctx, key)
	err = s.each(ctx, listValues, []any{key.Namespace, key.Run}, func(rows *sql.Rows) (bool, error) {
		var v tables.Value
		if err := rows.Scan(&v.ID, &v.Size, &v.Sum); err != nil {
			return false, err
		}
		list = append(list, v.Value)
		return false, values.Check(&v)
	})
	if err != nil {
		return nil, s.missing(ctx, key, err)
	}
	return list, nil
}
