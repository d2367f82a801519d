package filetools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/filetools"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// box is a folder with the tools for it, and a secret beside it.
type box struct {
	t   *testing.T
	dir string
	set *tools.Set
}

func newBox(t *testing.T, cfg filetools.Config, files map[string]string) *box {
	t.Helper()
	outer := t.TempDir()
	dir := filepath.Join(outer, "inside")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outer, "secret"), []byte("the secret"), 0o600))
	for name, content := range files {
		full := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	set, err := tools.NewSet(filetools.New(root, cfg)...)
	require.NoError(t, err)
	return &box{t: t, dir: dir, set: set}
}

// call runs a tool; no text that comes back names the folder or holds the secret.
func (b *box) call(tool string, args map[string]any) messages.ToolOutput {
	b.t.Helper()
	arguments, err := json.Marshal(args)
	require.NoError(b.t, err)
	found, ok := b.set.Lookup(tool)
	require.True(b.t, ok, tool)
	call := messages.ToolCall{ID: "1", Name: tool, Arguments: string(arguments)}
	out := toolrun.Runner{}.Run(b.t.Context(), toolrun.Job{Call: call, Tool: found})
	require.NotContains(b.t, out.Output, filepath.Dir(b.dir))
	require.NotContains(b.t, out.Output, "the secret")
	return out
}

func (b *box) want(text, tool string, args map[string]any) {
	b.t.Helper()
	out := b.call(tool, args)
	require.True(b.t, out.OK(), out.Output)
	require.Equal(b.t, text, out.Output)
}

func (b *box) refused(text, tool string, args map[string]any) {
	b.t.Helper()
	out := b.call(tool, args)
	require.False(b.t, out.OK(), out.Output)
	require.Contains(b.t, out.Output, text)
}

func TestDefinitions(t *testing.T) {
	b := newBox(t, filetools.Config{}, nil)
	require.Equal(t, []string{"edit_file", "list_files", "read_file", "search_files", "write_file"}, b.set.Names())
	for _, def := range b.set.Definitions() {
		writes := def.Name == "write_file" || def.Name == "edit_file"
		require.Equal(t, !writes, def.ReadOnly)
		require.Equal(t, !writes, def.Untrusted)
		require.Equal(t, writes, def.Sequential && def.Idempotent)
	}
	readOnly := newBox(t, filetools.Config{ReadOnly: true}, nil)
	require.Equal(t, []string{"list_files", "read_file", "search_files"}, readOnly.set.Names())
}

func TestWithoutAFolder(t *testing.T) {
	for _, tool := range filetools.New(nil, filetools.Config{}) {
		_, err := tool.Call(t.Context(), `{"path":"a"}`)
		require.Error(t, err)
	}
}

func TestListFiles(t *testing.T) {
	b := newBox(t, filetools.Config{}, map[string]string{"b.txt": "hello", "a/c.go": "x", "a/d/e.go": "xy", ".git/config": "x", "a/d/.git/x": "x"})
	require.NoError(t, os.Symlink("b.txt", filepath.Join(b.dir, "link")))

	b.want(".git/\na/\nb.txt (5 bytes)\nlink (link)\n", "list_files", nil)
	b.want("a/c.go (1 bytes)\na/d/\n", "list_files", map[string]any{"path": "a"})
	b.want("a/c.go (1 bytes)\na/d/e.go (2 bytes)\n", "list_files", map[string]any{"glob": "*.go"})
	b.want("a/d/e.go (2 bytes)\n", "list_files", map[string]any{"glob": "a/**/d/*"})
	b.want("a/d/e.go (2 bytes)\n", "list_files", map[string]any{"path": "./a/", "glob": "d/*.go"})
	b.want("[no files]", "list_files", map[string]any{"glob": "*.rs"})
	require.True(t, b.call("list_files", nil).Untrusted)

	b.refused(`there is no "z"`, "list_files", map[string]any{"path": "z"})
	b.refused(`there is no "z"`, "list_files", map[string]any{"path": "z", "glob": "*"})
	b.refused(`"b.txt" is not a folder`, "list_files", map[string]any{"path": "b.txt"})
	b.refused(`"b.txt" is not a folder`, "list_files", map[string]any{"path": "b.txt", "glob": "*"})
	b.refused(`"[" is not a glob`, "list_files", map[string]any{"glob": "["})

	few := newBox(t, filetools.Config{MaxResults: 2}, map[string]string{"a": "", "b": "", "c": ""})
	few.want("a (0 bytes)\nb (0 bytes)\n[cut: only the first 2 are shown]", "list_files", nil)
	few.want("a (0 bytes)\nb (0 bytes)\n[cut: only the first 2 are shown]", "list_files", map[string]any{"glob": "*"})
	few.want("a (0 bytes)\n", "list_files", map[string]any{"glob": "a"})
}

func TestReadFile(t *testing.T) {
	b := newBox(t, filetools.Config{MaxRead: 20}, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "b": "no newline", "empty": "", "bin": "a\x00b", "latin": "caf\xe9\n", "long": strings.Repeat("0123456789\n", 10_000),
		"wide": strings.Repeat("x", 100_000) + "\nend",
	})
	read := func(path string, from, to int) map[string]any {
		return map[string]any{"path": path, "from_line": from, "to_line": to}
	}
	b.want("one\ntwo\nthree\n", "read_file", map[string]any{"path": "a.txt"})
	b.want("two\n", "read_file", read("a.txt", 2, 2))
	b.want("two\nthree\n", "read_file", read("a.txt", 2, 0))
	b.want("three\n", "read_file", read("./x/../a.txt", 3, 99))
	b.want("[the file has only 3 lines]", "read_file", read("a.txt", 4, 0))
	b.want("no newline", "read_file", map[string]any{"path": "b"})
	b.want("[the file has only 1 lines]", "read_file", read("b", 2, 0))
	b.want("[the file is empty]", "read_file", map[string]any{"path": "empty"})
	b.want("[a binary file of 3 bytes: not shown]", "read_file", map[string]any{"path": "bin"})
	b.want("caf\uFFFD\n", "read_file", map[string]any{"path": "latin"})
	b.want("0123456789\n012345678\n[cut in line 2: read on with from_line 2 and from_byte 9]", "read_file", map[string]any{"path": "long"})
	b.want("0123456789\n", "read_file", read("long", 9_000, 9_000))
	b.want("xxxxxxxxxxxxxxxxxxxx\n[cut in line 1: read on with from_line 1 and from_byte 20]", "read_file", map[string]any{"path": "wide"})
	b.want("end", "read_file", read("wide", 2, 0))
	require.True(t, b.call("read_file", map[string]any{"path": "b"}).Untrusted)

	b.refused(`there is no "z"`, "read_file", map[string]any{"path": "z"})
	b.refused(`"." is a folder`, "read_file", map[string]any{"path": "."})
	b.refused("there are no lines 3 to 2", "read_file", read("a.txt", 3, 2))
	b.refused("there are no lines -1 to 0", "read_file", read("a.txt", -1, 0))
	b.refused("missing \"path\"", "read_file", nil)
	b.refused("not a directory", "read_file", map[string]any{"path": "b/c"})
}

func TestSearchFiles(t *testing.T) {
	b := newBox(t, filetools.Config{MaxResults: 3, MaxSearch: 1000}, map[string]string{
		"a.go": "package a\n\nfunc A() {}\r\n", "b/b.go": "package b // A\n", "b/c.md": "A", "bin": "A\x00", "large": strings.Repeat("A", 2000),
		"wide.txt": "W" + strings.Repeat("x", 500),
	})
	const more = "\n[1 files were left out: they have more than 1000 bytes]"
	b.want("a.go:3: func A() {}\nb/b.go:1: package b // A\nb/c.md:1: A\n"+more, "search_files", map[string]any{"pattern": "A"})
	b.want("a.go:3: func A() {}\n", "search_files", map[string]any{"pattern": "^func A", "glob": "*.go"})
	b.want("b/b.go:1: package b // A\nb/c.md:1: A\n", "search_files", map[string]any{"pattern": "A", "path": "b"})
	b.want("b/c.md:1: A\n", "search_files", map[string]any{"pattern": "(?i)a$", "path": "b/c.md"})
	b.want("[nothing found]", "search_files", map[string]any{"pattern": "zzz", "glob": "*.go"})
	b.want("wide.txt:1: W"+strings.Repeat("x", 299)+"…\n", "search_files", map[string]any{"pattern": "^W", "glob": "**/*.txt"})
	b.want("a.go:1: package a\na.go:2: \na.go:3: func A() {}\n[cut: only the first 3 are shown]", "search_files", map[string]any{"pattern": ""})
	require.True(t, b.call("search_files", map[string]any{"pattern": "A"}).Untrusted)

	b.refused("the pattern is not a regular expression", "search_files", map[string]any{"pattern": "("})
	b.refused(`there is no "z"`, "search_files", map[string]any{"pattern": "a", "path": "z"})
}

func TestSearchStopsWithItsContext(t *testing.T) {
	b := newBox(t, filetools.Config{}, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, arguments := range map[string]string{"search_files": `{"pattern":"x"}`, "list_files": `{"glob":"*"}`, "read_file": `{"path":"a"}`, "write_file": `{"path":"n","content":""}`} {
		found, _ := b.set.Lookup(tool)
		_, err := found.Call(ctx, arguments)
		if tool == "read_file" {
			require.NoError(t, err, "one short line is read at once")
			continue
		}
		require.ErrorIs(t, err, context.Canceled, tool)
	}
	require.NoFileExists(t, filepath.Join(b.dir, "n"))
}

func TestWriteFile(t *testing.T) {
	b := newBox(t, filetools.Config{MaxWrite: 10}, map[string]string{"a": "old", "d/x": "x"})
	require.NoError(t, os.Chmod(filepath.Join(b.dir, "a"), 0o750))
	before, err := os.Stat(filepath.Join(b.dir, "a"))
	require.NoError(t, err)
	content := func(name string) string {
		data, err := os.ReadFile(filepath.Join(b.dir, name))
		require.NoError(t, err)
		return string(data)
	}
	write := func(path, content string) map[string]any { return map[string]any{"path": path, "content": content} }

	b.want("3 bytes written to a", "write_file", write("a", "new"))
	require.Equal(t, "new", content("a"))
	info, err := os.Stat(filepath.Join(b.dir, "a"))
	require.NoError(t, err)
	require.Equal(t, before.Mode(), info.Mode(), "the file keeps its mode")

	b.want("0 bytes written to n/e/w", "write_file", write("./n//e/w", ""))
	require.Empty(t, content("n/e/w"))

	b.refused("11 bytes are too much", "write_file", write("a", "01234567890"))
	b.refused(`"d" is a folder`, "write_file", write("d", "x"))
	b.refused(`"" is a folder`, "write_file", write("", "x"))
	b.refused("a part of the path is a file, not a folder", "write_file", write("a/b", "x"))
	b.refused(`missing "content"`, "write_file", map[string]any{"path": "a"})
	require.Equal(t, "new", content("a"))

	require.NoError(t, os.Symlink("a", filepath.Join(b.dir, "link")))
	b.want("4 bytes written to link", "write_file", write("link", "link"))
	require.Equal(t, "new", content("a"), "a link is replaced, not followed")
	require.Equal(t, "link", content("link"))

	entries, err := os.ReadDir(b.dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), ".write-", "nothing temporary is left")
	}
}

func TestWriteFileWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this needs a user whom the modes of files bind: root is not one, nor is anybody on Windows")
	}
	b := newBox(t, filetools.Config{}, map[string]string{"d/x": "x"})
	require.NoError(t, os.Chmod(filepath.Join(b.dir, "d"), 0o500))
	b.refused("no permission", "write_file", map[string]any{"path": "d/y", "content": "y"})
}

// No path leads out of the folder.
func TestEscapes(t *testing.T) {
	b := newBox(t, filetools.Config{}, map[string]string{"a/b": "x"})
	outer := filepath.Dir(b.dir)
	for name, target := range map[string]string{"up": "..", "abs": outer, "file": "../secret", "absfile": filepath.Join(outer, "secret"), "a/deep": "../.."} {
		require.NoError(t, os.Symlink(target, filepath.Join(b.dir, name)))
	}
	require.NoError(t, os.Symlink("loop", filepath.Join(b.dir, "loop")))

	for _, path := range []string{
		"..", "../secret", "a/../../secret", "a/b/../../../secret", "/", "/etc/passwd", "up/secret", "abs/secret", "file", "absfile", "a/deep/secret",
	} {
		b.refused("is outside the folder", "read_file", map[string]any{"path": path})
		b.refused("is outside the folder", "search_files", map[string]any{"path": path, "pattern": "."})
		b.refused("is outside the folder", "list_files", map[string]any{"path": path, "glob": "*"})
		b.refused("is outside the folder", "list_files", map[string]any{"path": path})
	}
	for _, path := range []string{"../new", "/new", "up/new", "abs/new", "a/deep/new", "up/n/e/w"} {
		b.refused("is outside the folder", "write_file", map[string]any{"path": path, "content": "x"})
	}
	b.refused(`"loop"`, "read_file", map[string]any{"path": "loop"})
	b.refused("invalid argument", "read_file", map[string]any{"path": "a\x00b"})
	b.refused("outside", "read_file", map[string]any{"path": strings.Repeat("../", 10_000)})

	b.want("a/b (1 bytes)\n", "list_files", map[string]any{"glob": "**/*"})
	b.want("[nothing found]", "search_files", map[string]any{"pattern": "secret"})

	entries, err := os.ReadDir(outer)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing new outside")
	data, err := os.ReadFile(filepath.Join(outer, "secret"))
	require.NoError(t, err)
	require.Equal(t, "the secret", string(data))

	b.want("1 bytes written to file", "write_file", map[string]any{"path": "file", "content": "x"})
	data, err = os.ReadFile(filepath.Join(outer, "secret"))
	require.NoError(t, err)
	require.Equal(t, "the secret", string(data), "a link out is replaced by a file inside")
}

// Skipped files are searched only if the search begins at their path, and the result counts them.
func TestSearchFilesSkips(t *testing.T) {
	var asked []string
	b := newBox(t, filetools.Config{Skip: func(path string) bool {
		asked = append(asked, path)
		return strings.HasSuffix(path, ".env") || path == "keys" || strings.HasPrefix(path, "keys/")
	}}, map[string]string{"a": "x", ".env": "x", "d/b.env": "x", "keys/k": "x", "c.md": "x"})
	const left = "\n[3 files were left out: they are searched only by their own path]"
	b.want("a:1: x\nc.md:1: x\n"+left, "search_files", map[string]any{"pattern": "x"})
	require.Subset(t, []string{".", ".env", "a", "c.md", "d/b.env", "keys/k"}, asked)
	b.want("[nothing found]\n[1 files were left out: they are searched only by their own path]", "search_files", map[string]any{"pattern": "x", "path": "d"})
	b.want("c.md:1: x\n", "search_files", map[string]any{"pattern": "x", "glob": "*.md"})
	b.want(".env:1: x\n", "search_files", map[string]any{"pattern": "x", "path": "./d/../.env"})
	b.want("keys/k:1: x\n", "search_files", map[string]any{"pattern": "x", "path": "keys"})
	b.want("x", "read_file", map[string]any{"path": ".env"})
}
