// Package workfolder is the folder that the model may work in: its tools, the files in it that are
// protected, and what somebody allows who answers "always".
package workfolder

import (
	"bytes"
	"encoding/json"
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
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/filetools"
)

// The tools for files.
const (
	ListFiles   = "list_files"
	ReadFile    = "read_file"
	WriteFile   = "write_file"
	SearchFiles = "search_files"
)

// ToolNames are the names of the tools for files.
var ToolNames = []string{ListFiles, ReadFile, WriteFile, SearchFiles}

// Folder is the folder of --dir, with what is protected in it. It may be used by several
// goroutines at once.
type Folder struct {
	root      *os.Root
	at        [][]string // the names in its own path: as it was given, and with its links resolved
	protected ProtectedFiles
}

// Open opens a folder. Besides what always is, files that fit the globs of own are protected,
// and from being changed those that segue itself reads. Close it after the last use of its tools.
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
		full = name // the working folder of the process is gone
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

// globFor returns a glob that fits a path and all below it.
func globFor(name string) glob {
	g := glob{}
	for _, part := range namesIn(name) {
		g = append(g, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(foldCase(part)))
	}
	return g
}

// Tools returns the tools for the files of the folder. Searches leave out files with secrets.
func (f *Folder) Tools() []tools.Tool {
	return filetools.New(f.root, filetools.Config{Skip: func(name string) bool {
		return f.reason(f.resolve(name, true), false) != ""
	}})
}

// Target is the file that a tool call is about.
type Target struct {
	Name    string   // as the call has it, cleaned
	Real    string   // where it leads to by its links; "" if that is outside of the folder
	through []string // the paths by which it leads there
	changed bool     // by the call
	read    bool     // what is in it, by the call
}

// TargetOf returns what a call of a tool of the folder is about; false if it says no file, or one
// outside. The tool refuses such a call.
func (f *Folder) TargetOf(tool, arguments string) (Target, bool) {
	if f == nil || !slices.Contains(ToolNames, tool) {
		return Target{}, false
	}
	var said struct {
		Path string `json:"path"`
	}
	if strings.TrimSpace(arguments) != "" && json.Unmarshal([]byte(arguments), &said) != nil {
		return Target{}, false
	}
	name := path.Clean(filepath.ToSlash(said.Path))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return Target{}, false
	}
	t := f.resolve(name, tool != WriteFile)
	t.changed, t.read = tool == WriteFile, tool == ReadFile || tool == SearchFiles
	return t, true
}

// maxLinks is how many links a path may lead through. os.Root allows fewer.
const maxLinks = 100

// resolve follows the links in a path as os.Root does: never out of the folder, and the last one
// only if follow says.
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
			at = next // no link, or nothing is there
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

// reason returns why a file is protected from being changed, or else read; "" if it is not.
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

// Protection returns why a call is asked about each time; "" if it is not.
func (f *Folder) Protection(tool, arguments string) Protection {
	t, ok := f.TargetOf(tool, arguments)
	if !ok || !t.changed && !t.read {
		return ""
	}
	return f.reason(t, t.changed)
}

// Protect is a policy that has somebody asked about each call that changes a protected file, or
// reads a secret one, unless the policy refuses the call. Under a policy that refuses all changes,
// secrets are not read either.
func (f *Folder) Protect(policy orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	if f == nil {
		return policy
	}
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		if f.Protection(r.Call.Name, r.Call.Arguments) == "" {
			return policy(r)
		}
		given := policy(r)
		r.Definition.ReadOnly = false // what reads a secret is judged like what changes something
		if given == orchestrator.VerdictRefuse || policy(r) == orchestrator.VerdictRefuse {
			return orchestrator.VerdictRefuse
		}
		return orchestrator.VerdictAsk
	}
}

// Grant is what somebody allows who answers "always": a tool, below a folder if it is one for
// files.
type Grant struct{ Tool, Folder string }

// GrantOf returns what "always" would allow in answer to a call; false if nothing: the call is
// asked about each time, or it cannot be told which file it is about.
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

// Within reports whether one of the granted covers g.
func (g Grant) Within(granted map[Grant]bool) bool {
	for !granted[g] {
		if g.Folder == "" || g.Folder == "." {
			return false
		}
		g.Folder = path.Dir(g.Folder)
	}
	return true
}

// MaxCompared is how large a file may be that is compared with what shall replace it.
const MaxCompared = 1 << 20

// Existing returns the file that is to be replaced, or what it is if it cannot be compared. It
// follows no link.
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
	file, err := f.root.OpenFile(t.Real, os.O_RDONLY|regularfile.OpenAtOnce, 0) // it may have become a pipe
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
