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
	file     os.FileInfo // the file that was opened
	now      func() time.Time

	open    sync.RWMutex // held by every call for reading
	closed  bool
	writes  *sql.DB // the connections of the writer and of the drainer
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

// openings lets one store of the process be opened or closed at a time. When a process closes a
// file that SQLite has open elsewhere in the process, the process loses its locks on the file.
var openings sync.Mutex

// Open opens the file of a Config, and creates it if it does not exist. If an older version of this
// package wrote the file, Open brings the file up to date. If another program wrote the file, the
// error wraps [checkpoint.ErrForeign]; if a newer version of this package changed it, the error
// wraps [checkpoint.ErrNewer]; both leave the file unchanged. The caller closes the Store.
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

// connect opens the connections. The first of them brings the file up to date.
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
	// From here on begin waits for other processes: unlike SQLite, it stops when ctx is done.
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

// unreadable converts an error of opening a file: the file may be none of SQLite, or not writable.
func unreadable(path string, err error) error {
	var said *sqlite.Error
	if errors.As(err, &said) && said.Code()&0xff == sqlite3.SQLITE_NOTADB {
		return failure(&checkpoint.Error{Place: path, Kind: checkpoint.ErrForeign, Problem: "it is not a SQLite database, or an encrypted one", Err: said})
	}
	if errors.As(err, &said) && said.Code()&0xff == sqlite3.SQLITE_CANTOPEN {
		if file, err := os.OpenFile(path, os.O_RDWR, 0); err != nil { // such as on a disk that is mounted read-only
			return failure(&checkpoint.Error{Place: path, Kind: checkpoint.ErrReadOnly, Err: err})
		} else if err := file.Close(); err != nil {
			return fault(path, checkpoint.Key{}, err)
		}
	}
	return fault(path, checkpoint.Key{}, err)
}

// pool returns a pool of at most that many connections.
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

// Close waits until the running calls have returned, and closes the file. If nobody else has the
// file open, it then holds everything, and the two files beside it are gone. Later calls fail with
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

// release closes the connections that were opened. The connection of the writer is the last:
// closing it empties the log.
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

// enter begins a call, which ends with s.open.RUnlock. It fails if ctx is done or the Store is
// closed.
func (s *Store) enter(ctx context.Context, key checkpoint.Key) error {
	if err := ctx.Err(); err != nil {
		return s.fault(key, err)
	}
	s.open.RLock()
	if s.closed {
		s.open.RUnlock()
		return failure(&checkpoint.Error{Place: s.path, Key: key, Kind: checkpoint.ErrClosed})
	}
	return nil
}

// create creates the file and its folder, for their owner alone, if they do not exist.
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
		return failure(&checkpoint.Error{Place: path, Kind: kind, Err: err})
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fault(path, checkpoint.Key{}, err)
	case !info.Mode().IsRegular():
		return failure(&checkpoint.Error{Place: path, Kind: checkpoint.ErrForeign, Problem: "it is not a regular file, but " + info.Mode().Type().String()})
	default:
		return nil
	}
}

// makeFolder creates a folder and the folders above it, and flushes each to the disk.
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
	_ = above.Sync() // some systems cannot flush a folder, and need not
	return above.Close()
}
