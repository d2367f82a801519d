package sqlitestore

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

// What is committed stands in the log (the file with -wal behind its name) until it is moved to its
// pages in the file. SQLite would do so within a commit, which then takes a hundred times as long,
// so a goroutine does it: beside the writer at first, and if the log has grown meanwhile, which it
// does as long as somebody always writes, with the writer held up for the rest.
const (
	drainAt    = 4 << 20               // bytes that were written since the last time
	holdUpAt   = 16 << 20              // bytes of the log
	holdUpFor  = 50 * time.Millisecond // while somebody else reads or writes
	pageSize   = 4096
	pagesOfJob = 3 * pageSize // bytes that a job adds to the log besides its own
)

type drainer struct {
	conn    *sql.Conn
	size    atomic.Int64 // about what the log has grown by
	full    chan struct{}
	done    chan struct{}
	stopped sync.WaitGroup
	drained atomic.Int64 // how often
}

func (d *drainer) start(s *Store) {
	d.full, d.done = make(chan struct{}, 1), make(chan struct{})
	d.stopped.Go(func() {
		for {
			select {
			case <-d.done:
				return
			case <-d.full:
				d.drain(s)
			}
		}
	})
}

func (d *drainer) stop() {
	close(d.done)
	d.stopped.Wait()
}

// grown counts what was written to the log.
func (d *drainer) grown(bytes int) {
	if d.size.Add(int64(bytes)) < drainAt {
		return
	}
	select {
	case d.full <- struct{}{}:
	default:
	}
}

// drain moves what is in the log to the file. If it cannot, it will be tried again once more was
// written: nothing is lost by it, the log grows.
func (d *drainer) drain(s *Store) {
	d.size.Store(0)
	d.drained.Add(1)
	_, frames, err := checkpointLog(background, d.conn, "PRAGMA wal_checkpoint(PASSIVE)")
	if err != nil || frames*pageSize < holdUpAt {
		return
	}
	// As one who writes: SQLite itself would try for the lock now and then, and never get it.
	_ = s.write(background, &job{alone: true, do: func(w *writer) error {
		return s.insist(background, holdUpFor, func() (bool, error) {
			kept, _, err := checkpointLog(background, w.conn, "PRAGMA wal_checkpoint(RESTART)")
			return kept || busy(err), err
		})
	}})
}

// checkpointLog moves the log to the file. It returns whether others kept it from being done, and
// how many pages the log has.
func checkpointLog(ctx context.Context, conn *sql.Conn, pragma string) (kept bool, frames int, err error) {
	var one, moved int
	err = conn.QueryRowContext(ctx, pragma).Scan(&one, &frames, &moved)
	return one != 0, frames, err
}
