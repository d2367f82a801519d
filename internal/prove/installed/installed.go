// Package installed installs what tests need of strangers, from npm and PyPI, once in the user's
// cache.
package installed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// mostInstall bounds the time of an installation. A lock that is older is of a process that died.
const mostInstall = 5 * time.Minute

// NPM returns node, and a folder whose node_modules has packages. The folder has a name, which
// changes with the packages. The test is skipped if they cannot be had.
func NPM(t testing.TB, name string, packages ...string) (node, dir string) {
	t.Helper()
	node, npm := program(t, "node", name), program(t, "npm", name)
	return node, folder(t, "npm-"+name, func(ctx context.Context, dir string) error {
		return execute(ctx, npm, append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir}, packages...)...)
	})
}

// PyPI returns Python, and the variable of its environment with which it has packages. Their folder
// has a name, which changes with the packages. The test is skipped if they cannot be had.
func PyPI(t testing.TB, name string, packages ...string) (python, variable string) {
	t.Helper()
	python = program(t, "python3", name)
	return python, "PYTHONPATH=" + folder(t, "pypi-"+name, func(ctx context.Context, dir string) error {
		return execute(ctx, python, append([]string{
			"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "30", "--target", dir,
		}, packages...)...)
	})
}

// program returns the path of a program that a test needs for what is named.
func program(t testing.TB, name, what string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing: install it to try %s", name, what)
	}
	return path
}

// folder returns a folder in the user's cache that was installed once, or skips the test.
func folder(t testing.TB, name string, install func(ctx context.Context, dir string) error) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "segue-test", name)
	if err := into(t.Context(), dir, install); err != nil {
		t.Skipf("%s cannot be installed: %v", name, err)
	}
	return dir
}

// into makes a folder what install makes of an empty one, unless it is there. Several
// processes may do so at once: one fills a folder beside it, and moves that into place.
func into(ctx context.Context, dir string, install func(ctx context.Context, dir string) error) error {
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
	defer func() { _ = os.Remove(lock) }()
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	made, err := os.MkdirTemp(beside, filepath.Base(dir)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }()
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

// execute runs a command; its error has the end of what it wrote.
func execute(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out[max(0, len(out)-1000):])
	}
	return nil
}
