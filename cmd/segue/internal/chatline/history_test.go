package chatline

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, path string) *History {
	t.Helper()
	h, err := OpenHistory(path)
	require.NoError(t, err)
	return h
}

// TestHistory_isKept finds what was typed again, lines in lines included, and keeps it from others.
func TestHistory_isKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history")
	h := open(t, path)
	for _, typed := range []string{"one", "two\nlines \"quoted\"", "two\nlines \"quoted\"", ""} {
		require.NoError(t, h.Add(typed))
	}
	require.Equal(t, []string{"one", "two\nlines \"quoted\""}, h.Typed())
	require.Equal(t, h.Typed(), open(t, path).Typed())
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

// TestHistory_ofTwo keeps what two processes type at the same time.
func TestHistory_ofTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	a, b := open(t, path), open(t, path)
	require.NoError(t, a.Add("a"))
	require.NoError(t, b.Add("b"))
	require.Equal(t, []string{"a", "b"}, open(t, path).Typed())
}

// TestHistory_isBounded drops the oldest lines, and those that are too long.
func TestHistory_isBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := open(t, path)
	require.NoError(t, h.Add(strings.Repeat("a", maxLine+1)))
	require.Empty(t, h.Typed())
	var lines strings.Builder
	for i := range maxLines + 10 {
		fmt.Fprintf(&lines, "\"%d\"\n", i)
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	h = open(t, path)
	require.Len(t, h.Typed(), maxLines)
	require.Equal(t, "10", h.Typed()[0])
	for i := range maxBytes/maxLine + 2 {
		require.NoError(t, h.Add(strings.Repeat(string(rune('a'+i%26)), maxLine)))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(maxBytes))
	require.Less(t, len(open(t, path).Typed()), maxLines)
}

// TestHistory_damaged reads what can be read.
func TestHistory_damaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	require.NoError(t, os.WriteFile(path, []byte("\"one\"\nnonsense\n{}\n\"two\"\n\"thr"), 0o600))
	require.Equal(t, []string{"one", "two"}, open(t, path).Typed())
}

// TestHistory_nowhere is kept as long as the process is there.
func TestHistory_nowhere(t *testing.T) {
	h := open(t, "")
	require.NoError(t, h.Add("one"))
	require.Equal(t, []string{"one"}, h.Typed())
}
