package sqlitestore

import "context"

// Commits returns how many transactions a store has committed, and how often its log was drained.
func Commits(s *Store) (commits, drained int64) { return s.commits.Load(), s.drainer.drained.Load() }

// Execute runs SQL on the connection that writes.
func Execute(s *Store, text string) error {
	_, err := s.writer.conn.ExecContext(background, text)
	return err
}

// OpenWith opens a store as a program does that knows of more migrations.
func OpenWith(ctx context.Context, c Config, more ...string) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return openWith(ctx, c, append(migrations(), more...))
}
