// Package workfoldertest makes folders for tests.
package workfoldertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// New makes a folder with the given files and links, by name.
func New(t *testing.T, files, links map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	for name, leads := range links {
		if err := os.Symlink(leads, filepath.Join(dir, name)); err != nil {
			t.Skipf("links cannot be made here: %v", err)
		}
	}
	return dir
}

// Protected makes a folder with protected files, and links to them.
func Protected(t *testing.T) string {
	t.Helper()
	return New(t,
		map[string]string{".git/config": "x", ".env": "x", "src/a.go": "x", "src/.env.local": "x", "store/k": "x"},
		map[string]string{
			"d": ".git", "e": "d", "src/up": "../.git", "notes.txt": ".env", "more.txt": "notes.txt", "all": ".", "out": "..",
			".aws": "store", "loop": "loop", "src/far": "up/../src/../d", "absolute": "/.git", "plain": "src", "new": ".github",
		})
}

// Arguments returns the arguments of a call about a file.
func Arguments(path string) string {
	text, err := json.Marshal(map[string]string{"path": path, "content": "y"})
	if err != nil {
		panic(err)
	}
	return string(text)
}
