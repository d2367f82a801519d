package sqlitestore_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

func TestOpen_filesAreTheirOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "runs.db")
	s := open(t, path)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
	}
	for _, name := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), name)
	}
}

// A name is that of the file, whatever stands in it.
func TestOpen_strangeNames(t *testing.T) {
	for _, name := range []string{"a b", "a?b=c", "a#b", "a%20b", "ä", "file:x", ":memory:", "a&_pragma=x", "'"} {
		if runtime.GOOS == "windows" && name != "a b" && name != "a#b" && name != "a%20b" && name != "ä" {
			continue
		}
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path)
		require.NoError(t, s.Append(t.Context(), first("r", "1")))
		require.FileExists(t, path)
		require.FileExists(t, path+"-wal")
		require.NoError(t, s.Close())
	}
}

func TestOpen_config(t *testing.T) {
	for want, c := range map[string]sqlitestore.Config{
		"sqlitestore: Config.Path is empty: name the file that is to hold the runs":             {},
		`sqlitestore: Config.Synchronous is "OFF": want "FULL" or "NORMAL"`:                     {Path: "x", Synchronous: "OFF"},
		"sqlitestore: Config.BusyTimeout is -1ns and Config.Readers 0: neither may be negative": {Path: "x", BusyTimeout: -1},
	} {
		_, err := sqlitestore.Open(t.Context(), c)
		require.EqualError(t, err, want)
	}
}

// What is flushed is what the Config says, and SQLite drains no log within a commit.
func TestOpen_synchronous(t *testing.T) {
	for mode, want := range map[sqlitestore.Synchronous]int{"": 2, sqlitestore.Full: 2, sqlitestore.Normal: 1} {
		s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Synchronous: mode})
		require.NoError(t, err)
		defer s.Close()
		for pragma, want := range map[string]int{"synchronous": want, "wal_autocheckpoint": 0, "secure_delete": 1} {
			got, err := sqlitestore.Number(s, "PRAGMA "+pragma)
			require.NoError(t, err)
			require.Equal(t, want, got, pragma)
		}
	}
}

// A context that is done is the error, and nothing is made.
func TestOpen_doneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "runs.db")
	_, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: path})
	require.EqualError(t, err, "sqlitestore: "+path+": context canceled")
	require.NoFileExists(t, path)
}

// What something else has written is refused by name, and not changed.
func TestOpen_foreign(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	raw(t, other, "CREATE TABLE runs (id)")
	marked := filepath.Join(dir, "marked.db")
	raw(t, marked, "PRAGMA application_id = 7", "CREATE TABLE runs (id)")
	counted := filepath.Join(dir, "counted.db")
	raw(t, counted, "PRAGMA user_version = 1")
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("# Notes\n"), 0o644))
	long := filepath.Join(dir, "long")
	require.NoError(t, os.WriteFile(long, bytes.Repeat([]byte("long text\n"), 10_000), 0o644))
	for _, path := range []string{other, marked, counted, text, long, dir} {
		before, _ := os.ReadFile(path)
		_, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
		require.ErrorIs(t, err, checkpoint.ErrForeign, path)
		require.ErrorContains(t, err, path)
		after, _ := os.ReadFile(path)
		require.Equal(t, before, after)
	}
	_, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: other})
	require.EqualError(t, err, "sqlitestore: "+other+": this is not a store of runs: it is the SQLite database of another program (application_id 0x0, user_version 0, 1 tables and indexes) (name another file; this one was not changed)")
	_, err = sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(text, "runs.db")})
	require.ErrorIs(t, err, sqlitestore.ErrDisk)
}

// An empty file is as good as none.
func TestOpen_emptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, open(t, path).Append(t.Context(), first("r", "1")))
}

// A program that knows fewer migrations refuses a file: when it opens it, and when a newer program
// changes it while it is open. The newer one brings an older file up to date.
func TestSchema_newer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	old := open(t, path)
	require.NoError(t, old.Append(t.Context(), first("r", "1")))

	newer, err := sqlitestore.OpenWith(t.Context(), sqlitestore.Config{Path: path}, "ALTER TABLE runs ADD COLUMN mood TEXT; CREATE TABLE more (id)")
	require.NoError(t, err)
	defer newer.Close()
	storetest.Newer(t, old, newer, func() error {
		_, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
		require.ErrorContains(t, err, "sqlitestore: "+path+": ")
		return err
	})
	require.NoError(t, newer.Append(t.Context(), next("r", 2, "2")))
}

// A migration that fails leaves the file as it was.
func TestSchema_failedMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, s.Close())
	_, err := sqlitestore.OpenWith(t.Context(), sqlitestore.Config{Path: path}, "CREATE TABLE more (id); CREATE TABLE runs (id)")
	require.ErrorIs(t, err, sqlitestore.ErrDisk)
	require.NoError(t, open(t, path).Append(t.Context(), next("r", 2, "2")))
}

// The files of the first version, and of the one that added checksums of where runs stand, can be
// opened for ever. The last was written by
//
//	SEGUE_REWRITE=1 go test -run TestSchema_golden
func TestSchema_golden(t *testing.T) {
	if os.Getenv("SEGUE_REWRITE") != "" {
		writeGolden(t, filepath.Join("testdata", "v4.db"))
	}
	for _, version := range []string{"v1", "v4"} {
		t.Run(version, func(t *testing.T) { testGolden(t, filepath.Join("testdata", version+".db")) })
	}
}

func testGolden(t *testing.T, golden string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	bytes, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes, 0o600))
	s := open(t, path)
	storetest.Old(t, s, checkpoint.Query{Labels: map[string]string{"team": "red"}, Wait: "approval", Posted: true})
}

// A program of the first version that has the file open, while this one brings it up to date, is
// told so and writes no more.
func TestSchema_olderProgramAtWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	old, err := sqlitestore.OpenVersion(t.Context(), sqlitestore.Config{Path: path}, 1)
	require.NoError(t, err)
	defer old.Close()
	s := open(t, path)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, s.SaveSnapshot(t.Context(), key("r"), checkpoint.Snapshot{Records: 1}))
	require.ErrorIs(t, old.Append(t.Context(), next("r", 2, "2")), checkpoint.ErrNewer)
	require.ErrorIs(t, old.Delete(t.Context(), key("r")), checkpoint.ErrNewer)
	require.NoError(t, s.Append(t.Context(), next("r", 2, "2")))
}

func writeGolden(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Remove(path)
	s := open(t, path)
	storetest.Fill(t, s)
	require.NoError(t, s.Vacuum(t.Context()))
	require.NoError(t, s.Close())
}

// Several that open a file that is not there yet at once all get it.
func TestOpen_atOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "runs.db")
	storetest.AtOnce(t, func() (storetest.Store, error) {
		return sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path, BusyTimeout: time.Minute})
	})
}

// Two stores of one process may have one file open, and close it in any order.
func TestOpen_twice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	a, b := open(t, path), open(t, path)
	require.NoError(t, a.Append(t.Context(), first("r", "1")))
	require.NoError(t, b.Append(t.Context(), next("r", 2, "2")))
	require.NoError(t, a.Close())
	require.NoError(t, b.Append(t.Context(), next("r", 3, "3")))
	data, err := journal(t.Context(), b, "r")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, data)
}
