package main

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

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/filetools"
)

// The tools for files.
const (
	listFiles   = "list_files"
	readFile    = "read_file"
	writeFile   = "write_file"
	searchFiles = "search_files"
)

var fileToolNames = []string{listFiles, readFile, writeFile, searchFiles}

// workFolder is the folder of --dir, with what is protected in it. It may be used by several
// goroutines at once.
type workFolder struct {
	root      *os.Root
	at        [][]string // the names in its own path: as it was given, and with its links resolved
	protected protectedFiles
}

// openFolder opens a folder. Besides what always is, files that fit the globs of own are protected,
// and from being changed those that segue itself reads. Close it after the last use of its tools.
func openFolder(dir string, own []string, ours ...string) (*workFolder, error) {
	protected, err := newProtectedFiles(own)
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
	f := &workFolder{root: root, protected: protected}
	for _, place := range places(dir) {
		f.at = append(f.at, namesIn(place))
	}
	return f, nil
}

// close closes the folder.
func (f *workFolder) close() error { return f.root.Close() }

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
		g = append(g, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(fold(part)))
	}
	return g
}

// tools returns the tools for the files of the folder. Searches leave out files with secrets.
func (f *workFolder) tools() []tools.Tool {
	return filetools.New(f.root, filetools.Config{Skip: func(name string) bool {
		return f.why(f.resolve(name, true), false) != ""
	}})
}

// target is the file that a tool call is about.
type target struct {
	name    string   // as the call has it, cleaned
	real    string   // where it leads to by its links; "" if that is outside of the folder
	through []string // the paths by which it leads there
	changed bool     // by the call
	read    bool     // what is in it, by the call
}

// targetOf returns what a call of a tool of the folder is about; false if it says no file, or one
// outside. The tool refuses such a call.
func (f *workFolder) targetOf(tool, arguments string) (target, bool) {
	if f == nil || !slices.Contains(fileToolNames, tool) {
		return target{}, false
	}
	var said struct {
		Path string `json:"path"`
	}
	if strings.TrimSpace(arguments) != "" && json.Unmarshal([]byte(arguments), &said) != nil {
		return target{}, false
	}
	name := path.Clean(filepath.ToSlash(said.Path))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return target{}, false
	}
	t := f.resolve(name, tool != writeFile)
	t.changed, t.read = tool == writeFile, tool == readFile || tool == searchFiles
	return t, true
}

// maxLinks is how many links a path may lead through. os.Root allows fewer.
const maxLinks = 100

// resolve follows the links in a path as os.Root does: never out of the folder, and the last one
// only if follow says.
func (f *workFolder) resolve(name string, follow bool) target {
	t := target{name: name, through: []string{name}}
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
	t.real = at
	t.through = append(t.through, at)
	return t
}

// why returns why a file is protected from being changed, or else read; "" if it is not.
func (f *workFolder) why(t target, changed bool) protection {
	for _, way := range t.through {
		for _, at := range f.at {
			if why := f.protected.why(slices.Concat(at, namesIn(way)), changed); why != "" {
				return why
			}
		}
	}
	return ""
}

// asked returns why a call is asked about each time; "" if it is not.
func (f *workFolder) asked(tool, arguments string) protection {
	t, ok := f.targetOf(tool, arguments)
	if !ok || !t.changed && !t.read {
		return ""
	}
	return f.why(t, t.changed)
}

// protect is a policy that has somebody asked about each call that changes a protected file, or
// reads a secret one, unless the policy refuses the call. Under a policy that refuses all changes,
// secrets are not read either.
func (f *workFolder) protect(policy orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	if f == nil {
		return policy
	}
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		if f.asked(r.Call.Name, r.Call.Arguments) == "" {
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

// grant is what somebody allows who answers "always": a tool, below a folder if it is one for
// files.
type grant struct{ tool, folder string }

// grantOf returns what "always" would allow in answer to a call; false if nothing: the call is
// asked about each time, or it cannot be told which file it is about.
func (f *workFolder) grantOf(tool, arguments string) (grant, bool) {
	if f == nil || !slices.Contains(fileToolNames, tool) {
		return grant{tool: tool}, true
	}
	t, ok := f.targetOf(tool, arguments)
	if !ok || t.real == "" || f.asked(tool, arguments) != "" {
		return grant{}, false
	}
	folder := path.Dir(t.real)
	if info, err := f.root.Lstat(t.real); err == nil && info.IsDir() {
		folder = t.real
	}
	return grant{tool, folder}, true
}

// within reports whether one of the granted covers g.
func (g grant) within(granted map[grant]bool) bool {
	for !granted[g] {
		if g.folder == "" || g.folder == "." {
			return false
		}
		g.folder = path.Dir(g.folder)
	}
	return true
}

// maxCompared is how large a file may be that is compared with what shall replace it.
const maxCompared = 1 << 20

// existing returns the file that is to be replaced, or what it is if it cannot be compared. It
// follows no link.
func (f *workFolder) existing(t target) (content, what string, err error) {
	if t.real == "" {
		return "", "", fs.ErrInvalid
	}
	info, err := f.root.Lstat(t.real)
	switch {
	case err != nil:
		return "", "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return "", "a link", nil
	case info.IsDir():
		return "", "a folder, which fails,", nil
	case !info.Mode().IsRegular():
		return "", "what is no regular file", nil
	case info.Size() > maxCompared:
		return "", thousands(int(info.Size())) + " bytes, too many to compare,", nil
	}
	file, err := f.root.OpenFile(t.real, os.O_RDONLY|openAtOnce, 0) // it may have become a pipe
	if err != nil {
		return "", "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", "what is no regular file", err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxCompared))
	if bytes.IndexByte(data, 0) >= 0 {
		what = "a binary file of " + counted(int(info.Size()), "byte")
	}
	return string(data), what, err
}
