package filetools

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// kind is what a tool works on.
type kind string

// The kinds.
const (
	regularFile kind = "regular file"
	aFolder     kind = "folder"
)

func (k kind) is(mode fs.FileMode) bool {
	if k == aFolder {
		return mode.IsDir()
	}
	return mode.IsRegular()
}

// refuse says why a file of another kind is not opened.
func (k kind) refuse(name string, mode fs.FileMode) error {
	if mode.IsDir() {
		return fmt.Errorf("filetools: %s is a folder", show(name))
	}
	return fmt.Errorf("filetools: %s is not a %s", show(name), k)
}

// open opens a file of a kind. It looks first: to open a device can do something already.
func (f *folder) open(name string, want kind) (*os.File, int64, error) {
	clean, err := f.resolve(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.root.Stat(clean)
	if err != nil {
		return nil, 0, explain(name, err)
	}
	if !want.is(info.Mode()) {
		return nil, 0, want.refuse(name, info.Mode())
	}
	return f.openKind(clean, want)
}

// openKind opens a file and returns it with its size if it is of the kind. It does not wait for
// whoever writes into a pipe.
func (f *folder) openKind(name string, want kind) (*os.File, int64, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, explain(name, err)
	}
	info, err := file.Stat()
	if err == nil && want.is(info.Mode()) {
		return file, info.Size(), nil
	}
	_ = file.Close() // nothing was done with it
	if err != nil {
		return nil, 0, explain(name, err)
	}
	return nil, 0, want.refuse(name, info.Mode())
}

// readDir returns what is in a folder, in the order of the names.
func (f *folder) readDir(name string) ([]fs.DirEntry, error) {
	dir, _, err := f.open(name, aFolder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, explain(name, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// walked is the folder for [fs.WalkDir], which opens folders and nothing else.
type walked struct{ *folder }

// Open implements [fs.FS].
func (w walked) Open(name string) (fs.File, error) { return w.root.FS().Open(name) }

// Stat implements [fs.StatFS].
func (w walked) Stat(name string) (fs.FileInfo, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, explain(name, err)
	}
	return info, nil
}

// ReadDir implements [fs.ReadDirFS].
func (w walked) ReadDir(name string) ([]fs.DirEntry, error) { return w.readDir(name) }
