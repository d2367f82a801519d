package filetools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

type editArgs struct {
	Path string `json:"path" jsonschema:"the file"`
	Old  string `json:"old" jsonschema:"the text to replace, exactly as in the file; it must occur once, so give whole lines around the change if it is short"`
	New  string `json:"new" jsonschema:"the text that replaces it; empty to delete it"`
}

// Edit returns content with the only occurrence of old replaced by new, as edit_file does. It
// returns content unchanged if the edit was made before: old is gone and new occurs once, or old
// occurs only as a part of new. So an edit that is repeated changes nothing.
//
// The error is for the model: old is empty, equals new, does not occur, occurs several times, or
// would still occur after the edit other than as a part of new.
func Edit(content, old, new string) (string, error) {
	switch {
	case old == "":
		return "", errors.New("filetools: old is empty: give the text to replace, or use write_file")
	case old == new:
		return "", errors.New("filetools: old and new are the same text")
	case wasEdited(content, old, new):
		return content, nil
	}
	switch n := strings.Count(content, old); {
	case n == 1:
		edited := strings.Replace(content, old, new, 1)
		if strings.Contains(edited, old) && !wasEdited(edited, old, new) {
			return "", errors.New("filetools: old would still occur after the change: give more of the text around it")
		}
		return edited, nil
	case n > 1:
		return "", fmt.Errorf("filetools: old occurs %d times, in lines %s: give more of the text around the change", n, linesOf(content, old))
	case strings.Contains(content, "\r\n") && strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), old):
		return "", errors.New(`filetools: old does not occur: the lines of the file end with "\r\n"`)
	default:
		return "", errors.New("filetools: old does not occur: read the file, and give its text exactly, with all blanks")
	}
}

// wasEdited reports whether the edit was made before.
func wasEdited(content, old, new string) bool {
	if new == "" || strings.Count(content, new) != 1 {
		return false
	}
	return strings.Count(content, old) == strings.Count(new, old)
}

// linesOf lists the first lines in which a text begins.
func linesOf(content, text string) string {
	const most = 5
	var lines []string
	line := 1
	for len(lines) <= most {
		i := strings.Index(content, text)
		if i < 0 {
			break
		}
		line += strings.Count(content[:i], "\n")
		lines = append(lines, strconv.Itoa(line))
		line += strings.Count(text, "\n")
		content = content[i+len(text):]
	}
	if len(lines) > most {
		lines[most] = "…"
	}
	return strings.Join(lines, ", ")
}

// edit replaces a text in a file. Like write, it replaces the file as a whole; unlike write, it
// refuses a link, so that a link and the file that it leads to do not become two files.
func (f *folder) edit(ctx context.Context, in editArgs) (string, error) {
	name, err := f.resolve(in.Path)
	if err != nil {
		return "", err
	}
	info, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return "", explain(in.Path, err)
	case !info.Mode().IsRegular():
		return "", regularFile.refuse(in.Path, info.Mode())
	case info.Size() > int64(f.cfg.MaxWrite):
		return "", fmt.Errorf("filetools: %s has %d bytes, too much to edit: at most %d", show(in.Path), info.Size(), f.cfg.MaxWrite)
	}
	content, err := f.content(in.Path, name)
	if err != nil {
		return "", err
	}
	edited, err := Edit(content, in.Old, in.New)
	switch {
	case err != nil:
		return "", err
	case edited == content:
		return fmt.Sprintf("%s has the new text already: nothing was changed", name), nil
	case len(edited) > f.cfg.MaxWrite:
		return "", fmt.Errorf("filetools: %d bytes are too much for one file: at most %d", len(edited), f.cfg.MaxWrite)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	if err := f.replace(name, temporaryIn(path.Dir(name)), edited, info.Mode().Perm()); err != nil {
		return "", explain(in.Path, err)
	}
	line := 1 + strings.Count(content[:strings.Index(content, in.Old)], "\n")
	return fmt.Sprintf("%s changed at line %d", name, line), nil
}

// content returns the content of a text file. given is its name as the model gave it.
func (f *folder) content(given, name string) (string, error) {
	file, _, err := f.openKind(name, regularFile)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, int64(f.cfg.MaxWrite)))
	if err != nil {
		return "", explain(given, err)
	}
	if isBinary(data) {
		return "", fmt.Errorf("filetools: %s is a binary file", show(given))
	}
	return string(data), nil
}
