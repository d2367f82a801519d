package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// Post implements [checkpoint.Inbox]. The data of a message may have 512 MiB.
func (s *Store) Post(ctx context.Context, m checkpoint.Message) error {
	if err := ctx.Err(); err != nil {
		return fault(ctx, s.place, m.Key, err)
	}
	if err := m.Key.Check(); err != nil {
		return err
	}
	if len(m.Data) > mostBytes {
		return failure(&checkpoint.Error{Place: s.place, Key: m.Key, Kind: checkpoint.ErrTooLarge})
	}
	const text = `SELECT post_4($1, $2, $3, $4, $5)`
	crc := sum(m.Key, "message", m.ID, m.Data)
	return s.do(ctx, m.Key, func(conn *pgx.Conn) error {
		var there bool
		if err := conn.QueryRow(ctx, text, m.Key.Namespace, m.Key.Run, m.ID, crc, tables.BytesOf(m.Data)).Scan(&there); err != nil {
			return err
		}
		if !there {
			return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: m.Key}
		}
		return nil
	})
}

const postedTo = `SELECT r.namespace, r.run, i.message, i.at, i.data, i.crc
	FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (namespace, run, n)
	JOIN runs r ON r.namespace = k.namespace AND r.run = k.run
	JOIN inbox i ON i.run = r.id
	ORDER BY k.n, i.id`

// Posted implements [checkpoint.Inbox]. A message that is damaged keeps back no other.
func (s *Store) Posted(ctx context.Context, keys ...checkpoint.Key) (posted []checkpoint.Message, err error) {
	namespaces, runs := columnsOf(keys)
	var problems []error
	err = s.do(ctx, checkpoint.Key{}, func(conn *pgx.Conn) error {
		if len(runs) == 0 {
			return nil
		}
		rows, err := conn.Query(ctx, postedTo, namespaces, runs)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var m checkpoint.Message
			var want int32
			if err := rows.Scan(&m.Key.Namespace, &m.Key.Run, &m.ID, &m.At, &m.Data, &want); err != nil {
				return err
			}
			if sum(m.Key, "message", m.ID, m.Data) != want {
				problems = append(problems, s.corrupt(m.Key, "the checksum of a message to the run does not match"))
				continue
			}
			posted = append(posted, m)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return posted, errors.Join(problems...)
}

// columnsOf returns the namespaces and the ids of those keys that are valid.
func columnsOf(keys []checkpoint.Key) (namespaces, runs []string) {
	for _, key := range keys {
		if key.Check() == nil {
			namespaces, runs = append(namespaces, key.Namespace), append(runs, key.Run)
		}
	}
	return namespaces, runs
}
