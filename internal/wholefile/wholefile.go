// Package wholefile writes files of which a reader sees the old content or the new one, and nothing
// between.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes a file as a whole, or leaves the old one; only its owner can read the new one.
func Replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
