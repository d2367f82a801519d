package sqlitestore

import (
	"context"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

// Commits returns how many transactions a store has committed, and how often its log was drained.
func Commits(s *Store) (commits, drained int64) { return s.commits.Load(), s.drainer.drained.Load() }

// Execute runs SQL on the connection that writes.
func Execute(s *Store, text string) error {
	_, err := s.writer.conn.ExecContext(background, text)
	return err
}

// Number returns what a query says on the connection that writes.
func Number(s *Store, text string) (n int, err error) {
	err = s.writer.conn.QueryRowContext(background, text).Scan(&n)
	return n, err
}

// OpenWith opens a store as a program does that knows of more migrations.
func OpenWith(ctx context.Context, c Config, more ...string) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return openWith(ctx, c, append(migrations(), more...))
}

// OpenVersion opens a store as a program does that knows of fewer migrations.
func OpenVersion(ctx context.Context, c Config, version int) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return openWith(ctx, c, migrations()[:version])
}

// SumHeads gives each head the checksum that it should have.
func SumHeads(s *Store) error {
	rows, err := s.reads.QueryContext(background, "SELECT id, namespace, run, header FROM runs")
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := s.writer.exec("BEGIN"); err != nil {
		return err
	}
	if err := s.writer.exec("UPDATE runs AS r SET stand = " + standOfRun); err != nil {
		return err
	}
	for rows.Next() {
		var id int64
		var key checkpoint.Key
		var header string
		if err := rows.Scan(&id, &key.Namespace, &key.Run, &header); err != nil {
			return err
		}
		if err := s.writer.exec("UPDATE runs SET sum = ? WHERE id = ?", int64(tables.Sum(key, "head", "", []byte(header))), id); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return s.writer.exec("COMMIT")
}

// Plans says how SQLite finds the runs of a query.
func Plans(ctx context.Context, s *Store, q checkpoint.Query) (plans string, err error) {
	l := &listing{s: s, q: &q, until: tables.Nanos(s.now())}
	begin, err := l.best(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range append(begin.marks, mark{})[:max(1, len(begin.marks))] {
		text, args := l.query(&begin, m)
		rows, err := s.reads.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			return "", err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var plan string
			if err := rows.Scan(&id, &parent, &unused, &plan); err != nil {
				return "", err
			}
			plans += plan + "\n"
		}
		if err := rows.Err(); err != nil {
			return "", err
		}
	}
	return plans, nil
}

// Waiting returns how many jobs stand in the queue.
func Waiting(s *Store) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}
