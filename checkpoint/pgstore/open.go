package pgstore

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/segue-go/segue/checkpoint"
)

// Store is a [checkpoint.Store] in a PostgreSQL database, with every ability. It is safe for
// concurrent use, by several processes too.
type Store struct {
	place   string
	schema  string
	version int // of the schema
	pool    *pgxpool.Pool

	queue queue // of what is appended

	open   sync.RWMutex // held by every call for reading
	closed bool
}

var (
	_ checkpoint.Store         = (*Store)(nil)
	_ checkpoint.Lister        = (*Store)(nil)
	_ checkpoint.Inbox         = (*Store)(nil)
	_ checkpoint.Leaser        = (*Store)(nil)
	_ checkpoint.Pruner        = (*Store)(nil)
	_ checkpoint.SnapshotStore = (*Store)(nil)
)

// Open connects to the server of a Config, and creates the tables if they do not exist. If an older
// version of this package made the schema, Open brings the schema up to date, and others that open
// it wait meanwhile. If another program made the schema, the error wraps [checkpoint.ErrForeign];
// if a newer version of this package changed it, the error wraps [checkpoint.ErrNewer]; both
// leave the schema unchanged. The caller closes the Store.
func Open(ctx context.Context, c Config) (*Store, error) {
	return openWith(ctx, c, migrations())
}

func openWith(ctx context.Context, c Config, steps []string) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	how, err := c.pool()
	if err != nil {
		return nil, err
	}
	s := &Store{place: c.place(how), schema: c.Schema, version: len(steps)}
	if s.pool, err = pgxpool.NewWithConfig(ctx, how); err != nil {
		return nil, fault(ctx, s.place, checkpoint.Key{}, err)
	}
	err = s.do(ctx, checkpoint.Key{}, func(conn *pgx.Conn) error {
		return (&schema{place: s.place, name: c.Schema, conn: conn, steps: steps}).prepare(ctx)
	})
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// Close waits until the running calls have returned, and closes the connections. Later calls fail
// with an error that wraps [checkpoint.ErrClosed]; a second Close does nothing.
func (s *Store) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	if !s.closed {
		s.closed = true
		s.pool.Close()
	}
	return nil
}

// enter begins a call, which ends with open.RUnlock. It fails if ctx is done or the Store
// is closed.
func (s *Store) enter(ctx context.Context, key checkpoint.Key) error {
	if err := ctx.Err(); err != nil {
		return fault(ctx, s.place, key, err)
	}
	s.open.RLock()
	if s.closed {
		s.open.RUnlock()
		return failure(&checkpoint.Error{Place: s.place, Key: key, Kind: checkpoint.ErrClosed})
	}
	return nil
}

// do calls a function with a connection, and converts its error by fault. It fails if ctx is done
// or the Store is closed.
func (s *Store) do(ctx context.Context, key checkpoint.Key, what func(*pgx.Conn) error) error {
	if err := s.enter(ctx, key); err != nil {
		return err
	}
	defer s.open.RUnlock()
	if err := s.on(ctx, what); err != nil {
		return fault(ctx, s.place, key, err)
	}
	return nil
}

// on calls a function with a connection, and returns errors as they are.
func (s *Store) on(ctx context.Context, what func(*pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = what(conn.Conn())
	if err != nil && undefined(err) {
		if newer := (&schema{place: s.place, name: s.schema, conn: conn.Conn(), known: s.version}).newer(ctx); newer != nil {
			return newer
		}
	}
	return err
}
