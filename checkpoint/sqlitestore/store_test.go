package sqlitestore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint/internal/storetest"
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

var (
	key     = storetest.Key
	first   = storetest.First
	next    = storetest.Next
	content = storetest.Content
	journal = storetest.Journal
)

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
