// Package runstore opens the file in which the command keeps runs.
package runstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
)

// Place is the file of the runs.
type Place struct {
	Path  string // "": runs are not kept
	Usual bool   // it is the one in the user's state folder
}

// UsualPlace returns the file in the state folder of the user; without a Path if there is no such
// folder.
func UsualPlace(getenv func(string) string) Place {
	folder := xdg.Folder(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if folder == "" {
		return Place{Usual: true}
	}
	return Place{filepath.Join(folder, "segue", "runs.db"), true}
}

// Exists reports whether there is a file at the place.
func (p Place) Exists() bool {
	_, err := os.Stat(p.Path)
	return p.Path != "" && err == nil
}

// Files returns the files that belong to the place. Not all of them need exist.
func (p Place) Files() []string {
	if p.Path == "" {
		return nil
	}
	return []string{p.Path, p.Path + "-wal", p.Path + "-shm"}
}

// Open opens the store, and creates it if it is not there: created says so. Nobody else can read
// the usual one, whatever modes its files had. The store must be closed.
func (p Place) Open(ctx context.Context) (store *sqlitestore.Store, created bool, err error) {
	created = !p.Exists()
	if p.Usual {
		if err := os.MkdirAll(filepath.Dir(p.Path), 0o700); err != nil {
			return nil, false, fmt.Errorf("cannot make the folder of the runs: %w", err)
		}
		if err := p.close(); err != nil {
			return nil, false, fmt.Errorf("cannot keep the runs from others: %w", err)
		}
	}
	store, err = sqlitestore.Open(ctx, sqlitestore.Config{Path: p.Path})
	return store, created, err
}

// close takes the files and their folder from everybody but the user.
func (p Place) close() error {
	if runtime.GOOS == "windows" { // there the folder of the user is closed to others
		return nil
	}
	for _, name := range append(p.Files(), filepath.Dir(p.Path)) {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, info.Mode().Perm()&0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
