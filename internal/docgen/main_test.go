package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPagesAreFresh(t *testing.T) {
	want := map[string]bool{}
	for _, table := range tables {
		require.NoError(t, table.Validate())
		have, err := os.ReadFile(file(table))
		require.NoError(t, err)
		require.Equal(t, page(table), string(have), "%s is stale: run make generate", file(table))
		want[file(table)] = true
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.md"))
	require.NoError(t, err)
	require.Len(t, found, len(want), "a page without a table is in %s", folder)
}
