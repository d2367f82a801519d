package sqlitestore

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

// Committed transactions are in the log (the file with -wal behind its name) until they are moved
// to the file. SQLite would move them within a commit, which would then take a hundred times as
// long. So a goroutine, the drainer, moves them. At first it works beside the writer; if the log
// grows nevertheless, because somebody always writes, the writer waits until the drainer is done.
const (
	drainAt    = 4 << 20               // bytes written to the log since the drainer worked last
	holdUpAt   = 16 << 20              // bytes of the log; from here on the writer waits
	holdUpFor  = 50 * time.Millisecond // how long the writer waits while others read or write
	pageSize   = 4096
	pagesOfJob = 3 * pageSize // bytes that a job adds to the log besides its data
)

// drainer moves the log to the file.
type drainer struct {
	conn    *sql.Conn
	size    atomic.Int64 // bytes by which the log has grown, about
	full    chan struct{}
	done    chan struct{}
	stopped sync.WaitGroup
	drained atomic.Int64 // how often the log was drained
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

// grown counts bytes that were written to the log, and has the log drained once they are many.
func (d *drainer) grown(bytes int) {
	if d.size.Add(int64(bytes)) < drainAt {
		return
	}
	select {
	case d.full <- struct{}{}:
	default:
	}
}

// drain moves the log to the file. If this fails, the drainer tries again once more was written;
// nothing is lost, but the log grows.
func (d *drainer) drain(s *Store) {
	d.size.Store(0)
	d.drained.Add(1)
	_, frames, err := checkpointLog(background, d.conn, "PRAGMA wal_checkpoint(PASSIVE)")
	if err != nil || frames*pageSize < holdUpAt {
		return
	}
	// This is a job of the writer: SQLite itself would try for the lock now and then, and never get
	// it.
	_ = s.write(background, &job{alone: true, do: func(w *writer) error {
		return s.insist(background, holdUpFor, func() (bool, error) {
			kept, _, err := checkpointLog(background, w.conn, "PRAGMA wal_checkpoint(RESTART)")
			return kept || busy(err), err
		})
	}})
}

// checkpointLog moves the log to the file. It returns whether others prevented this, and how many
// pages the log has.
func checkpointLog(ctx context.Context, conn *sql.Conn, pragma string) (kept bool, frames int, err error) {
	var one, moved int
	err = conn.QueryRowContext(ctx, pragma).Scan(&one, &frames, &moved)
	return one != 0, frames, err
}
