// Package foldercopy copies the files of a folder, and says whether two folders hold the same.
package foldercopy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Limits bound what is copied. Zero is no bound.
type Limits struct {
	Files int   // most files, links and folders
	Bytes int64 // most bytes of all files together
}

// Make copies what is in a folder to another one, which is there and empty: folders, regular files,
// and links as they are, which need not lead anywhere in the copy. Of anything else, such as a
// pipe, there is no copy. A folder that exceeds the limits is an error; then some of it was copied.
func Make(to, from string, most Limits) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	c := copying{from: source, to: target, most: most}
	return errors.Join(fs.WalkDir(source.FS(), ".", c.entry), target.Close())
}

type copying struct {
	from, to *os.Root
	most     Limits
	files    int
	bytes    int64
}

// entry copies a file, a link or a folder, without what is in it.
func (c *copying) entry(name string, entry fs.DirEntry, err error) error {
	if err != nil || name == "." {
		return err
	}
	if c.files++; c.most.Files > 0 && c.files > c.most.Files {
		return fmt.Errorf("it holds more than %d files", c.most.Files)
	}
	switch mode := entry.Type(); {
	case mode.IsDir():
		return c.to.Mkdir(name, 0o700)
	case mode&fs.ModeSymlink != 0:
		link, err := c.from.Readlink(name)
		if err != nil {
			return err
		}
		return c.to.Symlink(link, name)
	case mode.IsRegular():
		return c.file(name)
	default:
		return nil
	}
}

// file copies a regular file.
func (c *copying) file(name string) error {
	source, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	target, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	from := io.Reader(source)
	if c.most.Bytes > 0 {
		from = io.LimitReader(source, c.most.Bytes-c.bytes+1)
	}
	n, err := io.Copy(target, from)
	if c.bytes += n; err == nil && c.most.Bytes > 0 && c.bytes > c.most.Bytes {
		err = fmt.Errorf("its files have more than %d bytes", c.most.Bytes)
	}
	return errors.Join(err, target.Close())
}

// Clear deletes all that is in a folder, and not the folder itself.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// Content is what a folder holds: a digest for each file and link, by its path with slashes, and
// "folder" for each folder.
type Content map[string]string

// Read returns what a folder holds.
func Read(dir string) (Content, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	held := Content{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		switch mode := entry.Type(); {
		case mode.IsDir():
			held[name] = "folder"
		case mode&fs.ModeSymlink != 0:
			link, err := root.Readlink(name)
			held[name] = "link to " + link
			return err
		case mode.IsRegular():
			data, err := root.ReadFile(name)
			held[name] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	return held, err
}

// Differs returns the first path at which a folder holds something else than another one, in the
// order of the alphabet; "" if they hold the same.
func (c Content) Differs(other Content) string {
	names := slices.Concat(slices.Collect(maps.Keys(c)), slices.Collect(maps.Keys(other)))
	slices.Sort(names)
	for _, name := range names {
		if c[name] != other[name] {
			return name
		}
	}
	return ""
}
