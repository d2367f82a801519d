package installed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/waittest"
)

// What is installed by several at once is installed once and whole. What failed, or was left by a
// process that died, is installed by the next.
func TestInto(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache", "servers")
	var installs atomic.Int32
	install := func(_ context.Context, made string) error {
		installs.Add(1)
		_, err := os.Stat(dir)
		require.ErrorIs(t, err, fs.ErrNotExist, "it is not in its place before it is whole")
		require.NoError(t, os.WriteFile(filepath.Join(made, "first"), nil, 0o600))
		runtime.Gosched()
		return os.WriteFile(filepath.Join(made, "last"), nil, 0o600)
	}
	failed := errors.New("no network")
	require.ErrorIs(t, into(t.Context(), dir, func(ctx context.Context, made string) error { return errors.Join(install(ctx, made), failed) }), failed)
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is left of what failed")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := into(t.Context(), dir, install); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "last")); err != nil {
				t.Error(err)
			}
		})
	}
	waittest.All(t, &all)
	require.EqualValues(t, 2, installs.Load())

	dir = filepath.Join(t.TempDir(), "servers")
	require.NoError(t, os.Mkdir(dir+".lock", 0o700)) // of a process that died
	long := time.Now().Add(-2 * mostInstall)
	require.NoError(t, os.Chtimes(dir+".lock", long, long))
	require.NoError(t, into(t.Context(), dir, install))
	require.EqualValues(t, 3, installs.Load())
}
