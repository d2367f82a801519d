package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// role says which part this program plays for a test that starts it again.
const role = "SEGUE_SQLITESTORE_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "drive":
		drive(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	}
}

func open(t testing.TB, path string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func fresh(t testing.TB) *sqlitestore.Store { return open(t, filepath.Join(t.TempDir(), "runs.db")) }

func key(run string) checkpoint.Key { return checkpoint.Key{Run: run} }

// first is the batch that begins a run.
func first(run string, data ...string) checkpoint.Batch {
	b := next(run, 1, data...)
	b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning, Strategy: "s"}
	return b
}

// next is a batch whose records have places from one on.
func next(run string, from int, data ...string) checkpoint.Batch {
	b := checkpoint.Batch{Key: key(run), Writer: "w", Epoch: 1}
	for i, d := range data {
		b.Records = append(b.Records, checkpoint.Record{Seq: from + i, Type: "t", Data: []byte(d)})
	}
	return b
}

// content is the data of a record: it shows whether the record is whole, and where it belongs.
func content(run string, seq int) string {
	return strings.Repeat(fmt.Sprintf("%s:%d ", run, seq), 1+seq*37%400)
}

// journal returns what is in a run, to the first error.
func journal(ctx context.Context, s checkpoint.Store, run string) (data []string, err error) {
	for r, err := range s.Read(ctx, key(run), 1) {
		if err != nil {
			return data, err
		}
		if r.Seq != len(data)+1 {
			return data, fmt.Errorf("record %d stands at %d", r.Seq, len(data)+1)
		}
		data = append(data, string(r.Data))
	}
	return data, nil
}

// raw does something to a file as another program can.
func raw(t testing.TB, path string, texts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, text := range texts {
		_, err = db.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	require.NoError(t, db.Close())
}
