package filetools

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// kind is the kind of file that a tool works on.
type kind string

// The kinds of files.
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

// refuse returns an error for a file of another kind.
func (k kind) refuse(name string, mode fs.FileMode) error {
	if mode.IsDir() {
		return fmt.Errorf("filetools: %s is a folder", show(name))
	}
	return fmt.Errorf("filetools: %s is not a %s", show(name), k)
}

// open opens a file of a kind. It checks the kind first, because opening a device can have effects.
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

// openKind opens a file and returns it with its size if it is of the kind. It does not block if the
// file is a pipe without a writer.
func (f *folder) openKind(name string, want kind) (*os.File, int64, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, explain(name, err)
	}
	info, err := file.Stat()
	if err == nil && want.is(info.Mode()) {
		return file, info.Size(), nil
	}
	_ = file.Close() // nothing was read or written
	if err != nil {
		return nil, 0, explain(name, err)
	}
	return nil, 0, want.refuse(name, info.Mode())
}

// readDir returns the entries of a folder, sorted by name.
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

// walked is the folder as [fs.WalkDir] uses it. It opens folders and nothing else.
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
