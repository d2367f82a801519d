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
// occurs only as a part of new. So an edit that is repeated changes nothing. If all lines of
// content end with "\r\n", so do those of old and new, whatever they were given with.
//
// The error is for the model: old is empty, equals new, does not occur, occurs several times, would
// still occur after the edit other than as a part of new, or ends within "\r\n".
func Edit(content, old, new string) (string, error) {
	edited, _, err := editAt(content, old, new)
	return edited, err
}

// editAt is Edit, and says where in content the edit begins.
func editAt(content, old, new string) (edited string, at int, err error) {
	givenOld, givenNew := old, new
	old, new = fitted(content, old, new)
	switch {
	case old == "":
		return "", 0, errors.New("filetools: old is empty: give the text to replace, or use write_file")
	case old == new:
		return "", 0, errors.New("filetools: old and new are the same text")
	case wasEdited(content, old, new):
		return content, 0, nil
	}
	switch lines := linesOf(content, old); {
	case len(lines) == 1:
		edited = strings.Replace(content, old, new, 1)
		switch {
		case hasCRLF(content) && strings.Contains(edited, "\n") && !hasCRLF(edited):
			return "", 0, errors.New(`filetools: old ends within the end of a line, which is "\r\n": end old before it, or behind it`)
		case strings.Contains(edited, old) && !wasEdited(edited, old, new), changes(edited, givenOld, givenNew):
			return "", 0, errors.New("filetools: old would still occur after the change: give more of the text around it")
		}
		return edited, strings.Index(content, old), nil
	case len(lines) > 1:
		return "", 0, fmt.Errorf("filetools: old occurs %d times, in lines %s: give more of the text around the change", max(len(lines), strings.Count(content, old)), listed(lines))
	case strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), old):
		return "", 0, errors.New(`filetools: old does not occur: some lines of the file end with "\r\n", and others with "\n"`)
	default:
		return "", 0, errors.New("filetools: old does not occur: read the file, and give its text exactly, with all blanks")
	}
}

// fitted returns old and new with the ends of lines that content has.
func fitted(content, old, new string) (fittedOld, fittedNew string) {
	if hasCRLF(content) {
		return withCRLF(old), withCRLF(new)
	}
	return old, new
}

// changes reports whether an edit would be made.
func changes(content, old, new string) bool {
	old, new = fitted(content, old, new)
	return !wasEdited(content, old, new) && len(linesOf(content, old)) == 1
}

// hasCRLF reports whether a text has lines, and all end with "\r\n".
func hasCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && strings.Count(text, "\r\n") == n
}

// withCRLF returns a text whose lines end with "\r\n".
func withCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// wasEdited reports whether the edit was made before.
func wasEdited(content, old, new string) bool {
	if new == "" || strings.Count(content, new) != 1 {
		return false
	}
	return strings.Count(content, old) == strings.Count(new, old)
}

// shownLines is how many lines an error lists.
const shownLines = 5

// linesOf returns the lines in which a text begins, each as often as it does, until there are more
// than an error lists. Places may overlap.
func linesOf(content, text string) (lines []int) {
	for line := 1; len(lines) <= shownLines; {
		i := strings.Index(content, text)
		if i < 0 {
			break
		}
		line += strings.Count(content[:i], "\n")
		lines = append(lines, line)
		line += strings.Count(content[i:i+1], "\n")
		content = content[i+1:]
	}
	return lines
}

// listed lists the first of some lines.
func listed(lines []int) string {
	var words []string
	for _, line := range lines[:min(shownLines, len(lines))] {
		words = append(words, strconv.Itoa(line))
	}
	if len(lines) > shownLines {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
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
	edited, at, err := editAt(content, in.Old, in.New)
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
	line := 1 + strings.Count(content[:at], "\n")
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
