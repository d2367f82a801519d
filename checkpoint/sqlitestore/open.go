package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/segue-go/segue/checkpoint"
)

// Store is a [checkpoint.Store] in a SQLite file, with every ability. It is safe for concurrent
// use, by several processes too.
type Store struct {
	path     string
	patience time.Duration
	version  int         // of the schema
	file     os.FileInfo // as it was opened
	now      func() time.Time

	open    sync.RWMutex // held by every call for reading
	closed  bool
	writes  *sql.DB // of the writer and of the one who drains the log
	reads   *sql.DB
	writer  *writer
	queue   queue
	drainer drainer

	commits atomic.Int64 // transactions that were committed
}

var (
	_ checkpoint.Store         = (*Store)(nil)
	_ checkpoint.Lister        = (*Store)(nil)
	_ checkpoint.Inbox         = (*Store)(nil)
	_ checkpoint.Leaser        = (*Store)(nil)
	_ checkpoint.Pruner        = (*Store)(nil)
	_ checkpoint.SnapshotStore = (*Store)(nil)
)

// openings makes stores of one process be opened one after the other: to close a file that SQLite
// has open loses the locks of the process on it.
var openings sync.Mutex

// Open opens the file of a Config, and creates it if it is not there. A file of an older version of
// this package is brought to the newest. One that something else has written is left as it is, and
// the error wraps [checkpoint.ErrForeign]; one of a newer version, too: see [checkpoint.SchemaError]. A Store has to be
// closed.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return openWith(ctx, c, migrations())
}

func openWith(ctx context.Context, c Config, steps []string) (*Store, error) {
	openings.Lock()
	defer openings.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fault(c.Path, checkpoint.Key{}, err)
	}
	if err := create(c.Path); err != nil {
		return nil, err
	}
	s := &Store{path: c.Path, patience: c.BusyTimeout, version: len(steps), now: time.Now}
	if err := s.connect(ctx, &c, steps); err != nil {
		_ = s.release() // err says why
		return nil, err
	}
	s.drainer.start(s)
	return s, nil
}

// connect opens the connections, the first of which brings the file up to date.
func (s *Store) connect(ctx context.Context, c *Config, steps []string) (err error) {
	if s.file, err = os.Stat(c.Path); err != nil {
		return fault(c.Path, checkpoint.Key{}, err)
	}
	if s.writes, err = pool(c.source(false), 2); err != nil {
		return fault(c.Path, checkpoint.Key{}, err)
	}
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return unreadable(c.Path, err)
	}
	s.writer = &writer{conn: conn}
	schema := &schema{path: c.Path, conn: conn, steps: steps, patience: c.BusyTimeout}
	if err := schema.prepare(ctx); err != nil {
		return unreadable(c.Path, err)
	}
	// From here on begin waits for others, and can be told to stop.
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return fault(c.Path, checkpoint.Key{}, err)
	}
	if s.drainer.conn, err = s.writes.Conn(ctx); err != nil {
		return fault(c.Path, checkpoint.Key{}, err)
	}
	if s.reads, err = pool(c.source(true), c.Readers); err != nil {
		return fault(c.Path, checkpoint.Key{}, err)
	}
	return nil
}

// unreadable says of what cannot be read at all that it is something else.
func unreadable(path string, err error) error {
	var said *sqlite.Error
	if errors.As(err, &said) && said.Code()&0xff == sqlite3.SQLITE_NOTADB {
		return failure(&checkpoint.StoreError{Place: path, Kind: checkpoint.ErrForeign, Problem: "it is no SQLite database, or one that is encrypted", Err: said})
	}
	if errors.As(err, &said) && said.Code()&0xff == sqlite3.SQLITE_CANTOPEN {
		if file, err := os.OpenFile(path, os.O_RDWR, 0); err != nil { // such as on a disk that is mounted read-only
			return failure(&checkpoint.StoreError{Place: path, Kind: checkpoint.ErrReadOnly, Err: err})
		} else if err := file.Close(); err != nil {
			return fault(path, checkpoint.Key{}, err)
		}
	}
	return fault(path, checkpoint.Key{}, err)
}

func pool(source string, most int) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(source)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// Close ends all that the Store does, once the calls that are on their way have returned. If nobody
// else has the file open, all is in it then, and the two beside it are gone. Later calls fail with
// an error that wraps [checkpoint.ErrClosed]; a second Close does nothing.
func (s *Store) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.drainer.stop()
	openings.Lock()
	defer openings.Unlock()
	if err := s.release(); err != nil {
		return s.fault(checkpoint.Key{}, err)
	}
	return nil
}

// release closes the connections that there are. That of the writer is the last: it empties the
// log.
func (s *Store) release() error {
	var errs []error
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.drainer.conn != nil {
		errs = append(errs, s.drainer.conn.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.writes != nil {
		errs = append(errs, s.writes.Close())
	}
	return errors.Join(errs...)
}

// enter begins a call, which ends by s.open.RUnlock. It fails if ctx is done or the Store closed.
func (s *Store) enter(ctx context.Context, key checkpoint.Key) error {
	if err := ctx.Err(); err != nil {
		return s.fault(key, err)
	}
	s.open.RLock()
	if s.closed {
		s.open.RUnlock()
		return failure(&checkpoint.StoreError{Place: s.path, Key: key, Kind: checkpoint.ErrClosed})
	}
	return nil
}

// create makes the file and its folder, for their owner alone, where they are not there yet.
func create(path string) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fault(path, checkpoint.Key{}, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		return file.Close()
	case !errors.Is(err, fs.ErrExist):
		kind := ErrDisk
		if errors.Is(err, fs.ErrPermission) {
			kind = checkpoint.ErrReadOnly
		}
		return failure(&checkpoint.StoreError{Place: path, Kind: kind, Err: err})
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fault(path, checkpoint.Key{}, err)
	case !info.Mode().IsRegular():
		return failure(&checkpoint.StoreError{Place: path, Kind: checkpoint.ErrForeign, Problem: "it is no regular file, but " + info.Mode().Type().String()})
	default:
		return nil
	}
}

// makeFolder creates a folder and those above it, and has the disk know of each.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	above, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	_ = above.Sync() // some systems do not let one flush a folder, and need not
	return above.Close()
}
