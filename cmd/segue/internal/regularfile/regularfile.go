// Package regularfile reads regular files, and refuses pipes, devices and folders before it reads a
// byte.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Read reads a regular file, or a link to one, of at most so many bytes. It refuses anything else
// without reading: a pipe would block, and a device may never end.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|OpenAtOnce, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat() // of the open file, even if the path has changed
	if err != nil {
		return nil, err
	}
	refuse := func(why string) error { return &fs.PathError{Op: "read", Path: path, Err: errors.New(why)} }
	switch {
	case info.IsDir():
		return nil, refuse("it is a folder")
	case !info.Mode().IsRegular():
		return nil, refuse("it is not a regular file")
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
