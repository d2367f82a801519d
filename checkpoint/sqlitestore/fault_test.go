package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/internal/waittest"
)

// A new header does not make good a head that is damaged.
func TestCorrupt_head(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	raw(t, path, `UPDATE runs SET header = replace(header, 'running', 'done')`)
	b := next("r", 2, "2")
	b.Header = &checkpoint.Header{Status: checkpoint.StatusDone}
	err := s.Append(t.Context(), b)
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, `run "r": the stored data are damaged: the checksum of the run's head does not match`)
}

// A row that stands where the next record belongs is damage, and no conflict that a writer could
// take for another's work.
func TestCorrupt_rowInTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	raw(t, path, "INSERT INTO records (place, type, data, sum) VALUES (1 << 32 | 2, '', x'', 0)")
	err := s.Append(t.Context(), next("r", 2, "2"))
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.NotErrorIs(t, err, checkpoint.ErrConflict)
	h, err := s.Head(t.Context(), key("r"))
	require.NoError(t, err)
	require.Equal(t, 1, h.Last)
}

// Pages that are no longer pages are damage.
func TestCorrupt_pages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	require.NoError(t, s.Append(t.Context(), first("r", strings.Repeat("x", 100_000))))
	require.NoError(t, s.Close())
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	for at := int64(4096); at < 25*4096; at += 4096 {
		_, err = file.WriteAt([]byte("damage damage damage"), at)
		require.NoError(t, err)
	}
	require.NoError(t, file.Close())
	s = open(t, path)
	_, err = journal(t.Context(), s, "r")
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, path)
}

// A full disk: nothing that was acknowledged is lost, the append fails by name, and the very same
// one succeeds once there is room. Of several that share a transaction those that fit are kept.
func TestFull(t *testing.T) {
	s := fresh(t)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, s.Append(t.Context(), first("q", "1")))
	require.NoError(t, sqlitestore.Execute(s, "PRAGMA max_page_count = 40"))
	large := next("r", 2, strings.Repeat("x", 1<<20))
	err := s.Append(t.Context(), large)
	require.ErrorIs(t, err, checkpoint.ErrFull)
	require.ErrorContains(t, err, `run "r": the disk is full`)
	require.ErrorContains(t, err, "make room; nothing that was acknowledged is lost")

	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			if i%2 == 0 {
				errs[i] = s.Append(t.Context(), large)
			} else {
				errs[i] = s.Append(t.Context(), first(fmt.Sprint("small", i), "1"))
			}
		})
	}
	waittest.All(t, &all)
	for i, err := range errs {
		if i%2 == 0 {
			require.ErrorIs(t, err, checkpoint.ErrFull)
		} else {
			require.NoError(t, err)
		}
	}
	data, err := journal(t.Context(), s, "r")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, data)

	require.NoError(t, sqlitestore.Execute(s, "PRAGMA max_page_count = 1073741823"))
	require.NoError(t, s.Append(t.Context(), large))
	require.NoError(t, s.Append(t.Context(), large), "the same again")
	data, err = journal(t.Context(), s, "r")
	require.NoError(t, err)
	require.Len(t, data, 2)
}

func TestReadOnly(t *testing.T) {
	s := fresh(t)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, sqlitestore.Execute(s, "PRAGMA query_only = 1"))
	err := s.Append(t.Context(), next("r", 2, "2"))
	require.ErrorIs(t, err, checkpoint.ErrReadOnly)
	require.ErrorContains(t, err, "let this user write the file")
	data, err := journal(t.Context(), s, "r")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, data)
	require.NoError(t, sqlitestore.Execute(s, "PRAGMA query_only = 0"))
	require.NoError(t, s.Append(t.Context(), next("r", 2, "2")))
}

// A file that this user may not write is refused when it is opened.
func TestReadOnly_open(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user may write everything")
	}
	path := filepath.Join(t.TempDir(), "runs.db")
	require.NoError(t, open(t, path).Close())
	require.NoError(t, os.Chmod(path, 0o400))
	_, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	require.ErrorIs(t, err, checkpoint.ErrReadOnly)
}

// What is written to a file that has no name any more would be lost in silence.
func TestMoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps files that are open")
	}
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, os.Rename(path, path+".old"))
	err = s.Append(t.Context(), next("r", 2, "2"))
	require.ErrorIs(t, err, sqlitestore.ErrMoved)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.ErrorIs(t, s.Append(t.Context(), next("r", 2, "2")), sqlitestore.ErrMoved)
	require.NoError(t, os.Rename(path+".old", path))
	require.NoError(t, s.Append(t.Context(), next("r", 2, "2")))
	require.NoError(t, s.Close())
}

// Another process that holds the lock is waited for, and named when it holds it for too long.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	other := open(t, path)
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path, BusyTimeout: 100 * time.Millisecond})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, sqlitestore.Execute(other, "BEGIN IMMEDIATE"))

	began := time.Now()
	err = s.Append(t.Context(), next("r", 2, "2"))
	require.ErrorIs(t, err, checkpoint.ErrBusy)
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.ErrorIs(t, s.Vacuum(t.Context()), checkpoint.ErrBusy)

	freed := make(chan error, 1)
	time.AfterFunc(20*time.Millisecond, func() { freed <- sqlitestore.Execute(other, "COMMIT") })
	require.NoError(t, s.Append(t.Context(), next("r", 2, "2")))
	require.NoError(t, waittest.Receive(t, freed))
}
