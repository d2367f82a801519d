package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

const (
	putValue  = `SELECT value_4($1, $2, $3, $4, $5, $6, $7)`
	readValue = `SELECT r.id, v.size, v.crc FROM runs r JOIN run_values v ON v.run = r.id
		WHERE r.namespace = $1 AND r.run = $2 AND v.id = $3`
	readParts = `SELECT part, crc, data FROM value_parts WHERE run = $1 AND id = $2 AND part BETWEEN $3 AND $4 ORDER BY part`
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
	for p := range tables.Parts(key, id, data) {
		parts, crcs = append(parts, p.Data), append(crcs, int32(p.Sum))
	}
	return s.do(ctx, key, func(conn *pgx.Conn) error {
		var there bool
		err := conn.QueryRow(ctx, putValue, key.Namespace, key.Run, id, size, int32(tables.SumOfValue(key, id, size)), crcs, parts).Scan(&there)
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
func (s *Store) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) (data []byte, size int64, err error) {
	err = s.found(ctx, key, func(conn *pgx.Conn) (err error) {
		data, size, err = s.values(ctx, conn, key).Read(id, offset, length)
		return err
	})
	return data, size, err
}

// values returns the values of a run.
func (s *Store) values(ctx context.Context, conn *pgx.Conn, key checkpoint.Key) *tables.Values {
	return &tables.Values{
		Key:     key,
		Corrupt: func(problem string) error { return s.corrupt(key, problem) },
		Row: func(id string) (v tables.Value, found bool, err error) {
			var crc int32
			v.ID = id
			err = conn.QueryRow(ctx, readValue, key.Namespace, key.Run, id).Scan(&v.Run, &v.Size, &crc)
			v.Sum = int64(uint32(crc))
			if errors.Is(err, pgx.ErrNoRows) {
				return v, false, nil
			}
			return v, err == nil, err
		},
		Parts: func(v *tables.Value, first, last int64, each func(tables.Part) error) error {
			rows, err := conn.Query(ctx, readParts, v.Run, v.ID, first, last)
			if err != nil {
				return err
			}
			var p tables.Part
			var crc int32
			_, err = pgx.ForEachRow(rows, []any{&p.Number, &crc, &p.Data}, func() error {
				p.Sum = int64(uint32(crc))
				return each(p)
			})
			return err
		},
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
		var v tables.Value
		var crc int32
		values := s.values(ctx, conn, key)
		_, err = pgx.ForEachRow(rows, []any{&v.ID, &v.Size, &crc}, func() error {
			v.Sum = int64(uint32(crc))
			list = append(list, v.Value)
			return values.Check(&v)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
