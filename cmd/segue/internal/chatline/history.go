package chatline

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// The bounds of the history.
const (
	maxLines = 1000
	maxBytes = 1 << 20 // of the file
	maxLine  = 16 << 10
)

// History keeps what was typed in a file that only its owner can read: a JSON string in each line,
// the oldest first. At most 1000 of them and 1 MiB are kept; longer ones than 16 KiB are not kept.
// Several processes may use the same file at a time. It is not safe for concurrent use otherwise.
type History struct {
	path  string // "": nothing is kept
	typed []string
}

// OpenHistory returns the history in a file. A file that is not there, or a line in it that cannot
// be read, is no error.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if path == "" {
		return h, nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	h.typed = typedIn(data)
	return h, nil
}

// typedIn returns what stands in a file.
func typedIn(data []byte) (all []string) {
	for line := range bytes.Lines(data) {
		var typed string
		if json.Unmarshal(line, &typed) == nil && typed != "" {
			all = append(all, typed)
		}
	}
	return bounded(all)
}

// bounded returns the last of the lines that are kept.
func bounded(all []string) []string {
	size := 0
	for i, typed := range slices.Backward(all) {
		line, _ := json.Marshal(typed) // a string cannot fail
		if size += len(line) + 1; size > maxBytes || len(all)-i > maxLines {
			return all[i+1:]
		}
	}
	return all
}

// Typed returns what was typed, the oldest first.
func (h *History) Typed() []string { return h.typed }

// Add keeps what was typed, unless it is the same as before.
func (h *History) Add(typed string) error {
	if typed == "" || len(typed) > maxLine || len(h.typed) > 0 && h.typed[len(h.typed)-1] == typed {
		return nil
	}
	h.typed = bounded(append(h.typed, typed))
	if h.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := lockedfile.OpenFile(h.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(f.Chmod(0o600), rewrite(f, typed))
	return errors.Join(err, f.Close())
}

// rewrite adds a line to the file, which another process may have changed, and drops what is too
// much.
func rewrite(f *lockedfile.File, typed string) error {
	var data bytes.Buffer
	if _, err := data.ReadFrom(f); err != nil {
		return err
	}
	var text bytes.Buffer
	for _, t := range bounded(append(typedIn(data.Bytes()), typed)) {
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	if _, err := f.WriteAt(text.Bytes(), 0); err != nil {
		return err
	}
	return f.Truncate(int64(text.Len()))
}
