// Package regularfile reads files that may be anything, and refuses what is no regular file before
// a byte of it is read.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Read reads a regular file, or what a link to one points to, of at most so many bytes.
// Anything else is refused without a read: a pipe would block, and a device may never end.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|OpenAtOnce, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat() // of what was opened, whatever the path is now
	if err != nil {
		return nil, err
	}
	refuse := func(why string) error { return &fs.PathError{Op: "read", Path: path, Err: errors.New(why)} }
	switch {
	case info.IsDir():
		return nil, refuse("it is a folder")
	case !info.Mode().IsRegular():
		return nil, refuse("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = refuse(fmt.Sprintf("it has more than %d bytes", most))
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
