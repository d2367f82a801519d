// Package workfolder provides the folder in which the model may work: its tools, its protected
// files, and the grants of users who answer "always".
package workfolder

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/regularfile"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/filetools"
)

// The tools for files.
const (
	ListFiles   = "list_files"
	ReadFile    = "read_file"
	WriteFile   = "write_file"
	EditFile    = "edit_file"
	SearchFiles = "search_files"
)

// ToolNames are the names of the tools for files.
var ToolNames = []string{ListFiles, ReadFile, WriteFile, EditFile, SearchFiles}

// Changes reports whether a tool of the folder changes files.
func Changes(tool string) bool { return tool == WriteFile || tool == EditFile }

// Folder is the folder of --dir, with its protected files. It is safe for concurrent use.
type Folder struct {
	root      *os.Root
	at        [][]string // the names in its own path: as given, and with links resolved
	protected ProtectedFiles
}

// Open opens a folder. In addition to the built-in lists it protects files that match the globs of
// own, and it protects the files of ours, which segue itself reads, from changes. Close the folder
// after the last use of its tools.
func Open(dir string, own []string, ours ...string) (*Folder, error) {
	protected, err := NewProtectedFiles(own)
	if err != nil {
		return nil, err
	}
	for _, name := range ours {
		for _, place := range places(name) {
			protected.code = append(protected.code, globFor(place))
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use the folder of --dir: %w", err)
	}
	f := &Folder{root: root, protected: protected}
	for _, place := range places(dir) {
		f.at = append(f.at, namesIn(place))
	}
	return f, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// places returns the absolute path of a file, and the one with its links resolved if it can be.
func places(name string) []string {
	full, err := filepath.Abs(name)
	if err != nil {
		full = name // the working folder of the process does not exist any more
	}
	if resolved, err := filepath.EvalSymlinks(full); err == nil && resolved != full {
		return []string{full, resolved}
	}
	return []string{full}
}

// namesIn returns the names in a path.
func namesIn(name string) []string {
	return strings.FieldsFunc(filepath.ToSlash(name), func(r rune) bool { return r == '/' })
}

// globFor returns a glob that matches a path and everything below it.
func globFor(name string) glob {
	g := glob{}
	for _, part := range namesIn(name) {
		g = append(g, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(foldCase(part)))
	}
	return g
}

// Tools returns the tools for the files of the folder. Searches skip files with secrets.
func (f *Folder) Tools() []tools.Tool {
	return filetools.New(f.root, filetools.Config{Skip: func(name string) bool {
		return f.reason(f.resolve(name, true), false) != ""
	}})
}

// Described returns the tools of a folder that is not opened, for a run that is only read: they
// have their definitions, and must not be called.
func Described() []tools.Tool { return filetools.New(nil, filetools.Config{}) }

// Target is the file of a tool call.
type Target struct {
	Name    string   // the name in the call, cleaned
	Real    string   // the name with links resolved; "" if that is outside the folder
	through []string // the paths on the way to Real
	changed bool     // the call changes it
	read    bool     // the call reads its content
}

// TargetOf returns the file of a call of a tool of the folder; false if the call names no file, or
// one outside the folder. The tool refuses such a call.
func (f *Folder) TargetOf(tool, arguments string) (Target, bool) {
	if f == nil || !slices.Contains(ToolNames, tool) {
		return Target{}, false
	}
	name, ok := PathIn(arguments)
	if !ok || !filepath.IsLocal(filepath.FromSlash(name)) {
		return Target{}, false
	}
	t := f.resolve(name, !Changes(tool)) // a link is replaced or refused, not followed
	t.changed, t.read = Changes(tool), tool == ReadFile || tool == SearchFiles
	return t, true
}

// maxLinks is the maximum number of links in a path. os.Root allows fewer.
const maxLinks = 100

// resolve follows the links in a path like os.Root: never out of the folder, and the last one only
// if follow is true.
func (f *Folder) resolve(name string, follow bool) Target {
	t := Target{Name: name, through: []string{name}}
	at, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == ".." && at == "." {
			return t
		}
		next := path.Join(at, part)
		if len(rest) == 0 && !follow {
			at = next
			break
		}
		link, err := f.root.Readlink(next)
		if err != nil || part == ".." || part == "." {
			at = next // not a link, or no file
			continue
		}
		if links++; links > maxLinks || filepath.IsAbs(link) {
			return t
		}
		rest = append(strings.Split(filepath.ToSlash(link), "/"), rest...)
		t.through = append(t.through, path.Join(append([]string{at}, rest...)...))
	}
	t.Real = at
	t.through = append(t.through, at)
	return t
}

// reason returns why a file is protected from changes, or, if changed is false, from reads; "" if
// it is not.
func (f *Folder) reason(t Target, changed bool) Protection {
	for _, way := range t.through {
		for _, at := range f.at {
			if why := f.protected.reason(slices.Concat(at, namesIn(way)), changed); why != "" {
				return why
			}
		}
	}
	return ""
}

// Protection returns why the user is asked each time about a call; "" if there is no such reason.
func (f *Folder) Protection(tool, arguments string) Protection {
	t, ok := f.TargetOf(tool, arguments)
	if !ok || !t.changed && !t.read {
		return ""
	}
	return f.reason(t, t.changed)
}

// Protect wraps a policy. The result asks about each call that changes a protected file or reads a
// secret one, unless policy refuses the call. If policy refuses all changes, secret files cannot be
// read either.
func (f *Folder) Protect(policy machine.ApprovalPolicy) machine.ApprovalPolicy {
	if f == nil {
		return policy
	}
	return func(r machine.ApprovalRequest) machine.Verdict {
		if f.Protection(r.Call.Name, r.Call.Arguments) == "" {
			return policy(r)
		}
		given := policy(r)
		r.Definition.ReadOnly = false // a read of a secret is judged like a change
		if given == machine.VerdictRefuse || policy(r) == machine.VerdictRefuse {
			return machine.VerdictRefuse
		}
		return machine.VerdictAsk
	}
}

// Grant is what a user allows with "always": a tool, and for a tool about files a folder.
type Grant struct{ Tool, Folder string }

// GrantOf returns the grant of an "always" for a call; false if there is none, because the user is
// asked each time, or because the file of the call is unknown.
func (f *Folder) GrantOf(tool, arguments string) (Grant, bool) {
	if f == nil || !slices.Contains(ToolNames, tool) {
		return Grant{Tool: tool}, true
	}
	t, ok := f.TargetOf(tool, arguments)
	if !ok || t.Real == "" || f.Protection(tool, arguments) != "" {
		return Grant{}, false
	}
	folder := path.Dir(t.Real)
	if info, err := f.root.Lstat(t.Real); err == nil && info.IsDir() {
		folder = t.Real
	}
	return Grant{tool, folder}, true
}

// Within reports whether one of the grants covers g.
func (g Grant) Within(granted map[Grant]bool) bool {
	for !granted[g] {
		if g.Folder == "" || g.Folder == "." {
			return false
		}
		g.Folder = path.Dir(g.Folder)
	}
	return true
}

// MaxCompared is the maximum size of a file that is compared with its replacement.
const MaxCompared = 1 << 20

// Existing returns the content of the file to be replaced, or a description if it cannot be
// compared. It does not follow links.
func (f *Folder) Existing(t Target) (content, what string, err error) {
	if t.Real == "" {
		return "", "", fs.ErrInvalid
	}
	info, err := f.root.Lstat(t.Real)
	switch {
	case err != nil:
		return "", "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return "", "a link", nil
	case info.IsDir():
		return "", "a folder, which fails,", nil
	case !info.Mode().IsRegular():
		return "", "what is no regular file", nil
	case info.Size() > MaxCompared:
		return "", plaintext.Thousands(int(info.Size())) + " bytes, too many to compare,", nil
	}
	file, err := f.root.OpenFile(t.Real, os.O_RDONLY|regularfile.OpenAtOnce, 0) // it may be a pipe by now
	if err != nil {
		return "", "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", "what is no regular file", err
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxCompared))
	if bytes.IndexByte(data, 0) >= 0 {
		what = "a binary file of " + plaintext.Counted(int(info.Size()), "byte")
	}
	return string(data), what, err
}
