package filetools

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

type listArgs struct {
	Path string `json:"path,omitempty" jsonschema:"the folder; the whole if left out"`
	Glob string `json:"glob,omitempty" jsonschema:"list all files below the folder that match it, such as *.go or src/**/*.md; if left out, the files and folders in the folder itself"`
}

func (f *folder) list(ctx context.Context, in listArgs) (string, error) {
	dir, err := f.resolve(in.Path)
	if err != nil {
		return "", err
	}
	l := &lines{most: f.cfg.MaxResults}
	if in.Glob == "" {
		err = f.listDir(dir, l)
	} else if err = f.checkFolder(dir); err == nil {
		l.complete, err = f.walk(ctx, dir, in.Glob, func(name string, size int64) bool {
			return l.add(fmt.Sprintf("%s (%d bytes)", name, size))
		})
	}
	if err != nil {
		return "", err
	}
	return l.text("no files"), nil
}

// checkFolder returns an error if name is not a folder.
func (f *folder) checkFolder(name string) error {
	dir, _, err := f.open(name, aFolder)
	if err != nil {
		return err
	}
	return dir.Close()
}

func (f *folder) listDir(dir string, l *lines) error {
	entries, err := f.readDir(dir)
	if err != nil {
		return err
	}
	l.complete = true
	for _, e := range entries {
		if !l.add(describe(dir, e)) {
			l.complete = false
			break
		}
	}
	return nil
}

func describe(dir string, e fs.DirEntry) string {
	name := e.Name()
	if dir != "." {
		name = dir + "/" + name
	}
	info, err := e.Info()
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return name + " (link)"
	case err != nil || !e.Type().IsRegular():
		return name + " (not a file)"
	default:
		return fmt.Sprintf("%s (%d bytes)", name, info.Size())
	}
}

// lines is a result with a limited number of lines.
type lines struct {
	b        strings.Builder
	n, most  int
	complete bool // nothing was left out
}

// add adds a line and reports whether there is room for more.
func (l *lines) add(line string) bool {
	if l.n == l.most {
		return false
	}
	l.n++
	l.b.WriteString(strings.ToValidUTF8(line, "\uFFFD") + "\n")
	return true
}

func (l *lines) text(none string) string {
	switch {
	case l.n == 0 && l.complete:
		return "[" + none + "]"
	case l.complete:
		return l.b.String()
	default:
		return l.b.String() + fmt.Sprintf("[cut: only the first %d are shown]", l.n)
	}
}
