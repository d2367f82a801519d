package filetools

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

type writeArgs struct {
	Path    string `json:"path" jsonschema:"the file"`
	Content string `json:"content" jsonschema:"all that shall stand in it"`
}

// write writes the content to a temporary file beside the target and then renames it, so that a
// reader sees either the old or the new file. A link is replaced, not followed. A text file keeps
// its byte order mark, and the ends of its lines if all are "\r\n".
func (f *folder) write(ctx context.Context, in writeArgs) (string, error) {
	name, err := f.resolve(in.Path)
	switch {
	case err != nil:
		return "", err
	case name == ".":
		return "", fmt.Errorf("filetools: %s is a folder", show(in.Path))
	}
	content, kept := in.Content, ""
	var mode fs.FileMode // of the existing file
	if info, err := f.root.Lstat(name); err == nil {
		if info.IsDir() {
			return "", fmt.Errorf("filetools: %s is a folder", show(in.Path))
		}
		if info.Mode().IsRegular() {
			mode = info.Mode().Perm()
			was, _ := f.content(in.Path, name) // what cannot be read is replaced all the same
			content, kept = keepForm(was, content)
		}
	}
	if len(content) > f.cfg.MaxWrite {
		return "", fmt.Errorf("filetools: %d bytes are too much for one file: at most %d", len(content), f.cfg.MaxWrite)
	}
	dir := path.Dir(name)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return "", explain(in.Path, err)
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err := f.replace(name, temporaryIn(dir), content, mode); err != nil {
		return "", explain(in.Path, err)
	}
	return fmt.Sprintf("%d bytes written to %s%s", len(content), name, kept), nil
}

// Replace returns content as write_file writes it over a text file: with the byte order mark of
// that text and, if all its lines end with "\r\n", with such lines.
func Replace(was, content string) string {
	formed, _ := keepForm(was, content)
	return formed
}

// keepForm returns content with the byte order mark and the line ends of the text that it replaces,
// and the end of a result that says so.
func keepForm(was, content string) (formed, kept string) {
	const bom = "\ufeff"
	if strings.HasPrefix(was, bom) && !strings.HasPrefix(content, bom) {
		content, kept = bom+content, "; the byte order mark of the file is kept"
	}
	if formed, _ = fitted(was, content, ""); formed != content {
		kept += `; the line ends "\r\n" of the file are kept`
	}
	return formed, kept
}

// temporaryIn returns the name of a new file in a folder.
func temporaryIn(dir string) string { return path.Join(dir, ".write-"+rand.Text()) }

func (f *folder) replace(name, temporary, content string, mode fs.FileMode) (err error) {
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.root.Remove(temporary) // the earlier error says more
		}
	}()
	if _, err = file.WriteString(content); err == nil && mode != 0 {
		err = file.Chmod(mode)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return f.root.Rename(temporary, name)
}
