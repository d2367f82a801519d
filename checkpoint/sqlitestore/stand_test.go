package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// A file of the first version gets the checksums. A head that was damaged before stays damaged.
func TestStand_migrated(t *testing.T) {
	bytes, err := os.ReadFile(filepath.Join("testdata", "v1.db"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "runs.db")
	require.NoError(t, os.WriteFile(path, bytes, 0o600))
	old, err := sqlitestore.OpenVersion(t.Context(), sqlitestore.Config{Path: path}, 3)
	require.NoError(t, err)
	require.NoError(t, sqlitestore.Execute(old, "UPDATE runs SET header = replace(header, 's', 'z') WHERE run = 'runs'"))
	require.NoError(t, old.Close())

	s := open(t, path)
	storetest.Migrated(t, s, func() {
		require.NoError(t, sqlitestore.Execute(s, "UPDATE runs SET last = 1 WHERE run = 'waits'"))
	})
}
