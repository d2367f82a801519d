package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

const (
	findRun    = `SELECT id FROM runs WHERE namespace = ? AND run = ?`
	addMessage = `INSERT INTO inbox (run, message, at, data, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (run, message) DO NOTHING`
)

// Post implements [checkpoint.Inbox].
func (s *Store) Post(ctx context.Context, m checkpoint.Message) error {
	if err := s.enter(ctx, m.Key); err != nil {
		return err
	}
	defer s.open.RUnlock()
	if err := m.Key.Check(); err != nil {
		return err
	}
	want := int64(tables.Sum(m.Key, "message", m.ID, m.Data))
	return s.write(ctx, &job{key: m.Key, bytes: len(m.Data), do: func(w *writer) error {
		var id int64
		found, err := w.row(findRun, []any{m.Key.Namespace, m.Key.Run}, &id)
		if err != nil {
			return err
		}
		if !found {
			return refused{&checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: m.Key}}
		}
		return w.exec(addMessage, id, m.ID, tables.Nanos(s.now()), tables.BytesOf(m.Data), want)
	}})
}

// Posted implements [checkpoint.Inbox]. What is damaged keeps back nothing else.
func (s *Store) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	if err := s.enter(ctx, checkpoint.Key{}); err != nil {
		return nil, err
	}
	defer s.open.RUnlock()
	var posted []checkpoint.Message
	var damage, problems []error
	for _, key := range keys {
		some, damaged, err := s.posted(ctx, key)
		posted, damage = append(posted, some...), append(damage, damaged...)
		if err == nil {
			continue
		}
		problems = append(problems, s.missing(ctx, key, err))
		if ctx.Err() != nil {
			break
		}
	}
	if len(problems) > 0 { // what is damaged is said when all else was read
		return posted, errors.Join(problems...)
	}
	return posted, errors.Join(damage...)
}

// posted returns the messages to a run, an error for each that is damaged, and an error if not all
// were read.
func (s *Store) posted(ctx context.Context, key checkpoint.Key) (list []checkpoint.Message, damage []error, err error) {
	const text = `SELECT i.message, i.at, i.data, i.sum FROM runs r CROSS JOIN inbox i ON i.run = r.id
		WHERE r.namespace = ? AND r.run = ? ORDER BY i.id`
	err = s.each(ctx, text, []any{key.Namespace, key.Run}, func(rows *sql.Rows) (bool, error) {
		var at, want int64
		m := checkpoint.Message{Key: key}
		if err := rows.Scan(&m.ID, &at, &m.Data, &want); err != nil {
			return false, err
		}
		if int64(tables.Sum(key, "message", m.ID, m.Data)) != want {
			damage = append(damage, s.corrupt(key, "the checksum of a message to the run does not match"))
			return false, nil
		}
		m.At = time.Unix(0, at)
		list = append(list, m)
		return false, nil
	})
	return list, damage, err
}
