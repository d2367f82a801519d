// Package filetools gives a model access to the files of one folder, with the tools list_files,
// read_file, search_files, write_file and edit_file.
//
// Every path is relative to the folder and is resolved by [os.Root]. So neither "..", nor an
// absolute path, nor a symbolic link leads out of the folder. No text that a tool returns contains
// the name of the folder itself. File contents are marked as untrusted. A text file that is written
// or edited keeps its byte order mark, and the ends of its lines if all are "\r\n".
package filetools

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/segue-go/segue/tools"
)

// Config limits the tools. Each number that is zero means the default; a negative number means no
// limit.
type Config struct {
	ReadOnly   bool // leave out write_file and edit_file
	MaxRead    int  // bytes that one read_file returns; default 128 KiB
	MaxWrite   int  // bytes of one file written by write_file or edit_file; default 1 MiB
	MaxSearch  int  // bytes of one file searched by search_files, which leaves out larger files; default 4 MiB
	MaxResults int  // most entries of list_files, and most lines of search_files; default 200

	// Skip reports whether search_files leaves out a file; the result says how many were left out.
	// Nil leaves out none. The path is relative to the folder, with slashes; links in it are not
	// resolved. To skip a folder, Skip must report the folder and everything below it. If Skip
	// reports the path that a search begins at, a file or a folder, that search leaves out nothing.
	// The other tools ignore Skip. Skip must be safe for concurrent use.
	Skip func(path string) bool
}

// New returns the tools for the files in root. The caller still owns root: close it when no tool is
// running.
func New(root *os.Root, cfg Config) []tools.Tool {
	f := &folder{root: root, cfg: Config{
		ReadOnly:   cfg.ReadOnly,
		MaxRead:    bound(cfg.MaxRead, 128<<10),
		MaxWrite:   bound(cfg.MaxWrite, 1<<20),
		MaxSearch:  bound(cfg.MaxSearch, 4<<20),
		MaxResults: bound(cfg.MaxResults, 200),
		Skip:       cfg.Skip,
	}}
	reading := func(name, description string) tools.Definition {
		return tools.Definition{Name: name, Description: description, ReadOnly: true, Untrusted: true}
	}
	all := []tools.Tool{
		tools.New(reading("list_files", "List the files and folders in a folder, or all files below it that match a glob."), f.list),
		tools.New(reading("read_file", "Read a text file, or some of its lines."), f.read),
		tools.New(reading("search_files", "Find the lines of text files that match a regular expression."), f.search),
	}
	if !cfg.ReadOnly {
		all = append(all, tools.New(tools.Definition{
			Name: "write_file", Description: "Write a text file, in place of the one that is there. Folders are made as needed.",
			Idempotent: true, Sequential: true,
		}, f.write), tools.New(tools.Definition{
			Name: "edit_file", Description: "Change a part of a text file: replace a text that occurs once in it.",
			Idempotent: true, Sequential: true,
		}, f.edit))
	}
	return all
}

func bound(n, def int) int {
	switch {
	case n == 0:
		return def
	case n < 0:
		return math.MaxInt
	default:
		return n
	}
}

// folder is shared by the tools.
type folder struct {
	root *os.Root
	cfg  Config
}

// resolve returns name in the form that os.Root and package path expect; "" becomes ".".
func (f *folder) resolve(name string) (string, error) {
	if f.root == nil {
		return "", errors.New("filetools: there is no folder")
	}
	clean := path.Clean(filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", outside(name)
	}
	return clean, nil
}

func outside(name string) error {
	return fmt.Errorf("filetools: %s is outside the folder: give a path relative to it", show(name))
}

// explain describes a file error without the path of the folder.
func explain(name string, err error) error {
	inner := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		inner = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		inner = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("filetools: there is no %s", show(name))
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("filetools: %s: a part of the path is a file, not a folder", show(name))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("filetools: %s: no permission", show(name))
	case strings.Contains(inner.Error(), "escapes"): // the error of os.Root is not exported
		return outside(name)
	default:
		return fmt.Errorf("filetools: %s: %w", show(name), inner)
	}
}

// show quotes a name that a model gave.
func show(name string) string {
	const most = 200
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", name)
}
