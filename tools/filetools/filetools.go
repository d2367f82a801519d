// Package filetools gives a model the files of one folder: list_files, read_file, search_files and
// write_file.
//
// Every path is relative to the folder and is resolved by [os.Root], so that neither "..", nor an
// absolute path, nor a symbolic link leads out of it. No text that a tool returns names the folder
// itself. What is read comes from outside and is marked untrusted.
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

// Config bounds the tools. In each number zero means the default and negative means no bound.
type Config struct {
	ReadOnly   bool // leave out write_file
	MaxRead    int  // bytes that one read_file returns; default 128 KiB
	MaxWrite   int  // bytes of a file that write_file writes; default 1 MiB
	MaxSearch  int  // bytes of a file that search_files looks into, larger ones are left out; default 4 MiB
	MaxResults int  // entries that list_files, and lines that search_files returns; default 200

	// Skip reports the files that search_files leaves out; it says how many in its result. Nil
	// leaves out none. The path is relative to the folder, with slashes; links in it are not
	// resolved. A search whose own path, of a file or a folder, is reported leaves out nothing: so
	// Skip reports a folder together with all below it. Skip keeps no other tool from a file. It is
	// called by several goroutines at once.
	Skip func(path string) bool
}

// New returns the tools for the files in root. Root stays its owner's: close it when no tool runs
// any more.
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
		}, f.write))
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

// folder is what the tools share.
type folder struct {
	root *os.Root
	cfg  Config
}

// resolve returns name in the form that os.Root and package path take, "." for "".
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

// explain says what went wrong with a file, without the path of the folder.
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
		return fmt.Errorf("filetools: %s: a file stands where a folder is needed", show(name))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("filetools: %s: no permission", show(name))
	case strings.Contains(inner.Error(), "escapes"): // the error of os.Root has no name
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
