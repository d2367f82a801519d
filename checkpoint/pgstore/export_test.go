package pgstore

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
)

// OpenWith opens a store as a program does that knows of more migrations.
func OpenWith(ctx context.Context, c Config, more ...string) (*Store, error) {
	return openWith(ctx, c, append(migrations(), more...))
}

// Migrations returns the scripts that lead from version to version.
func Migrations() []string { return migrations() }

// Described returns what is stored of a header: the text, the checksum, the state, the marks and
// when it is due.
func Described(key checkpoint.Key, header *checkpoint.Header) []any {
	d, err := describe(key, header)
	if err != nil {
		panic(err)
	}
	return []any{d.text, d.crc, d.state, d.marks, d.due}
}

// Explained returns how the server would make a page of a list.
func Explained(ctx context.Context, s *Store, q checkpoint.Query) (plan string, err error) {
	text, args := listing(&q)
	err = s.do(ctx, checkpoint.Key{}, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE) "+text, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, line := range lines {
			plan += line + "\n"
		}
		return err
	})
	return plan, err
}

// Alive reports whether a connection is there still.
func Alive(conn net.Conn) bool { return alive(conn) }

// Sum is the checksum of a record.
func Sum(key checkpoint.Key, name, kind string, data []byte) int32 { return sum(key, name, kind, data) }

// Waiting returns how many appends stand in the queue.
func Waiting(s *Store) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}
