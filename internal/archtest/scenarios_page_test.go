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

// Every scenario is shown by a test that bears its number, and the page that lists them is fresh.
func TestScenariosAreShown(t *testing.T) {
	all, err := shown()
	require.NoError(t, err)
	require.Empty(t, missing(all), "scenarios that no test bears the number of")
	have, err := os.ReadFile(scenariosPage)
	require.NoError(t, err)
	require.Equal(t, scenarios(all), string(have), "%s is stale: run make generate", scenariosPage)
}

func TestNumbersIn(t *testing.T) {
	for name, want := range map[string][]scenario{
		"_S1_6_S1_7_abort":  {{"S1", 6}, {"S1", 7}},
		"_W17_conversation": {{"W", 17}},
		"/S0-1-S0-2-a.txt":  {{"S0", 1}, {"S0", 2}},
		" W-3 twice":        {{"W", 3}},
		"_Width":            nil,
		"_HTTPS2_1":         nil,
	} {
		require.Equal(t, want, numbersIn(name), name)
	}
}
