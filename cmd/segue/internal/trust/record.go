package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/cmd/segue/internal/xdg"
	"github.com/segue-go/segue/internal/wholefile"
)

const (
	recordVersion = 1
	maxRecord     = 16 << 20 // maximum size of a record in bytes
)

// recordFile is a file of the user that holds a record as JSON. Several processes may use it at
// once.
type recordFile[R interface{ check() error }] struct {
	path    string
	of      string // what is recorded
	empty   R      // the record where there is no file
	shorter string // what to do about a record that is too long
}

// userPath returns the path of a record of the user.
func userPath(getenv func(string) string, name, of string) (string, error) {
	folder := xdg.Folder(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if folder == "" {
		return "", fmt.Errorf("cannot tell where the record of %s is: set HOME or XDG_STATE_HOME", of)
	}
	return filepath.Join(folder, "segue", name), nil
}

// read reads the record, and checks it. An error means that nothing of it can be used.
func (f recordFile[R]) read() (R, error) {
	r := f.empty
	data, err := regularfile.Read(f.path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("cannot read the record of %s: %w", f.of, err)
	}
	var version struct{ Version int }
	err = json.Unmarshal(data, &version)
	switch {
	case err != nil:
	case version.Version != recordVersion: // of other versions only the number is known
		err = fmt.Errorf("it has version %d, and this segue knows version %d", version.Version, recordVersion)
	default:
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err = d.Decode(&r); err == nil {
			err = r.check()
		}
	}
	if err != nil {
		return f.empty, fmt.Errorf("cannot use the record of %s, %s: %w; remove it to start again", f.of, f.path, err)
	}
	return r, nil
}

// change edits the record. It does not lose changes by other processes at the same time.
func (f recordFile[R]) change(edit func(*R) error) error {
	failed := func(err error) error { return fmt.Errorf("cannot write the record of %s: %w", f.of, err) }
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return failed(err)
	}
	unlock, err := lockedfile.MutexAt(f.path + ".lock").Lock()
	if err != nil {
		return failed(err)
	}
	defer unlock()
	r, err := f.read()
	if err == nil {
		err = edit(&r)
	}
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil && len(data) >= maxRecord {
		err = errors.New("it would be too long; " + f.shorter)
	}
	if err == nil {
		err = wholefile.Replace(f.path, append(data, '\n'))
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
