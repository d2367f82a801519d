package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const tiny = "github.com/example/tiny"

var day = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)

// tinyWorkspace is a repository with a library and, nested below it, a command that uses it.
func tinyWorkspace(t *testing.T) string {
	t.Setenv("GOPROXY", "off")
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"CHANGELOG.md":    "# Changelog\n\n## Unreleased\n\n- One.\n",
		"go.work":         "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tiny\n)\n\nreplace " + tiny + " v0.0.1 => ./\n",
		"go.mod":          "module " + tiny + "\n\ngo 1.26.0\n",
		"tiny.go":         "package tiny\n\nfunc One() int { return 1 }\n",
		"cmd/tiny/go.mod": "module " + tiny + "/cmd/tiny\n\ngo 1.26.0\n\nrequire " + tiny + " v0.0.1\n",
		"cmd/tiny/main.go": "package main\n\nimport \"" + tiny + "\"\n\n" +
			"func main() { println(tiny.One()) }\n",
	})
	_, err := git(t.Context(), dir, "init", "-q")
	require.NoError(t, err)
	commitAll(t, dir)
	return dir
}

func commitAll(t *testing.T, dir string) {
	_, err := git(t.Context(), dir, "add", "-A")
	require.NoError(t, err)
	_, err = git(t.Context(), dir, "commit", "-q", "-m", "x")
	require.NoError(t, err)
}

func write(t *testing.T, dir string, files map[string]string) {
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

func read(t *testing.T, dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

// with runs f in a session on a working tree and returns its output.
func with(t *testing.T, dir string, f func(context.Context, *session) error) (string, error) {
	var out bytes.Buffer
	s, err := begin(t.Context(), dir, &out)
	if err != nil {
		return "", err
	}
	defer func() { require.NoError(t, s.end()) }()
	return out.String(), f(t.Context(), s)
}

func release(v string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error { return s.release(ctx, v, day) }
}

func strictly(v string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error { return s.pack(ctx, v, true) }
}

func loosely(v string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error { return s.pack(ctx, v, false) }
}

// A prepared working tree holds every version and checksum that its tags need.
func TestRelease_packsWhatItPrepared(t *testing.T) {
	dir := tinyWorkspace(t)
	_, err := with(t, dir, strictly("v0.1.0"))
	require.ErrorContains(t, err, "is not prepared, cmd/tiny/go.mod, cmd/tiny/go.sum, go.work would change")

	_, err = with(t, dir, release("v0.1.0"))
	require.NoError(t, err)
	require.Contains(t, read(t, dir, "CHANGELOG.md"), "## Unreleased\n\n## 0.1.0 - 2026-03-04\n\n- One.\n")
	require.Contains(t, read(t, dir, "cmd/tiny/go.mod"), "require "+tiny+" v0.1.0\n")
	require.Contains(t, read(t, dir, "go.work"), "replace "+tiny+" v0.1.0 => ./\n")
	require.NotContains(t, read(t, dir, "go.work"), "v0.0.1")
	sums := read(t, dir, "cmd/tiny/go.sum")
	require.Equal(t, 1, strings.Count(sums, tiny+" v0.1.0 h1:"))
	require.Equal(t, 1, strings.Count(sums, tiny+" v0.1.0/go.mod h1:"))
	commitAll(t, dir)
	_, err = with(t, dir, strictly("v0.1.0"))
	require.NoError(t, err)

	write(t, dir, map[string]string{"tiny.go": "package tiny\n\nfunc One() int { return 2 }\n"})
	_, err = with(t, dir, strictly("v0.1.0"))
	require.ErrorContains(t, err, "is not prepared, cmd/tiny/go.sum would change", "a checksum is of what is tagged")
	_, err = with(t, dir, loosely("v0.1.0"))
	require.NoError(t, err, "between releases a checksum is that of the last one")
}

// What is prepared and committed is tagged. Tags that are missing are made later, and those of
// another commit are left alone.
func TestRelease_tags(t *testing.T) {
	dir := tinyWorkspace(t)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "somebody")
		t.Setenv("GIT_"+who+"_EMAIL", "somebody@example.com")
	}
	tags := func() string {
		made, err := git(t.Context(), dir, "tag", "--points-at", "HEAD")
		require.NoError(t, err)
		return made
	}
	_, err := with(t, dir, release("v0.1.0"))
	require.NoError(t, err)
	_, err = git(t.Context(), dir, "add", "-A") // the go.sum is new
	require.NoError(t, err)
	_, err = with(t, dir, release("v0.1.0"))
	require.ErrorContains(t, err, "these files are changed, and not committed")
	commitAll(t, dir)
	require.Empty(t, tags())
	_, err = with(t, dir, release("v0.1.0"))
	require.NoError(t, err)
	require.Equal(t, "cmd/tiny/v0.1.0\nv0.1.0\n", tags())
	_, err = git(t.Context(), dir, "tag", "-d", "v0.1.0")
	require.NoError(t, err)
	_, err = with(t, dir, release("v0.1.0"))
	require.NoError(t, err)
	require.Equal(t, "cmd/tiny/v0.1.0\nv0.1.0\n", tags())
	write(t, dir, map[string]string{"a.txt": "later"})
	commitAll(t, dir)
	_, err = with(t, dir, release("v0.1.0"))
	require.ErrorContains(t, err, "cmd/tiny/v0.1.0, v0.1.0 is the tag of another commit: give a newer version")
	require.Empty(t, tags())
}

// The modules that go fetches with the checksums of the release are the packed ones.
func TestRelease_installsFromAnEmptyFolder(t *testing.T) {
	dir := tinyWorkspace(t)
	_, err := with(t, dir, func(ctx context.Context, s *session) error {
		require.NoError(t, s.pack(ctx, "v0.1.0", false))
		empty, err := s.empty("install")
		require.NoError(t, err)
		c, err := s.in(ctx, empty, "packed")
		require.NoError(t, err)
		c.env = append(c.env, "GOBIN="+s.tmp)
		_, err = c.run(ctx, "go", "install", tiny+"/cmd/tiny@latest")
		return err
	})
	require.NoError(t, err)
}

// A file that was never added to git is not packed.
func TestRelease_leavesOutWhatWasNeverAdded(t *testing.T) {
	dir := tinyWorkspace(t)
	write(t, dir, map[string]string{
		"two/two.go":       "package two\n\nfunc Two() int { return 2 }\n",
		"cmd/tiny/main.go": "package main\n\nimport \"" + tiny + "/two\"\n\nfunc main() { println(two.Two()) }\n",
	})
	_, err := with(t, dir, loosely("v0.1.0"))
	require.ErrorContains(t, err, "but does not contain package "+tiny+"/two")
	_, err = git(t.Context(), dir, "add", "two")
	require.NoError(t, err)
	_, err = with(t, dir, loosely("v0.1.0"))
	require.NoError(t, err, "a change that is not committed counts")
}

// A folder without a repository, such as an archive, is packed whole.
func TestRelease_withoutRepository(t *testing.T) {
	dir := tinyWorkspace(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	said, err := with(t, dir, loosely("v0.1.0"))
	require.NoError(t, err)
	require.Contains(t, said, "is no git repository")
}

// Tidying between releases keeps the checksums of the last one, although the library has changed.
func TestTidy_keepsReleasedSums(t *testing.T) {
	dir := tinyWorkspace(t)
	_, err := with(t, dir, release("v0.1.0"))
	require.NoError(t, err)
	released := read(t, dir, "cmd/tiny/go.sum")
	write(t, dir, map[string]string{
		"tiny.go":         "package tiny\n\nfunc One() int { return 2 }\n",
		"cmd/tiny/go.sum": released + "example.com/gone v1.0.0/go.mod h1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=\n",
	})
	_, err = with(t, dir, loosely("v0.1.0"))
	require.ErrorContains(t, err, "cmd/tiny/go.sum is not tidy: run make tidy")
	_, err = with(t, dir, func(ctx context.Context, s *session) error { return s.tidy(ctx, "v0.1.0") })
	require.NoError(t, err)
	require.Equal(t, released, read(t, dir, "cmd/tiny/go.sum"))
}

// A replacement in a go.mod prevents go install from working.
func TestOpen_refusesReplacements(t *testing.T) {
	dir := tinyWorkspace(t)
	write(t, dir, map[string]string{"cmd/tiny/go.mod": read(t, dir, "cmd/tiny/go.mod") + "\nreplace " + tiny + " => ../..\n"})
	_, err := with(t, dir, loosely("v0.1.0"))
	require.ErrorContains(t, err, "replaces modules")
}

func TestWithVersion(t *testing.T) {
	const log = "# Changelog\n\n## Unreleased\n\n- Two.\n\n## 0.1.0 - 2026-01-01\n\n- One.\n"
	for name, c := range map[string]struct{ log, version, want, wrong string }{
		"a new one":        {log, "v0.2.0", "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-03-04\n\n- Two.\n\n## 0.1.0 - 2026-01-01\n\n- One.\n", ""},
		"the newest":       {log, "v0.1.0", log, ""},
		"an old one":       {strings.Replace(log, "0.1.0", "0.3.0 - 2026-02-01\n\n## 0.1.0", 1), "v0.1.0", "", "v0.1.0 is not newer than v0.3.0"},
		"one below":        {log, "v0.0.9", "", "v0.0.9 is not newer than v0.1.0"},
		"too late":         {log, "v0.1.0-rc.1", "", "v0.1.0-rc.1 is not newer than v0.1.0"},
		"behind an rc":     {strings.Replace(log, "0.1.0", "0.2.0-rc.9", 1), "v0.2.0", "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-03-04\n\n- Two.\n\n## 0.2.0-rc.9 - 2026-01-01\n\n- One.\n", ""},
		"nothing to say":   {strings.Replace(log, "- Two.\n", "", 1), "v0.2.0", "", "there is nothing to release"},
		"nothing to cut":   {strings.Replace(log, "Unreleased", "Next", 1), "v0.2.0", "", "no heading"},
		"no version":       {log, "v0.2", "", `"v0.2" is not a version`},
		"version for once": {"## Unreleased\n- A.\n", "v1.0.0-rc.1", "## Unreleased\n\n## 1.0.0-rc.1 - 2026-03-04\n- A.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withVersion(c.log, c.version, day)
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			v, err := newest(got)
			require.NoError(t, err)
			require.Equal(t, c.version, v)
		})
	}
	_, err := newest("## Unreleased\n")
	require.ErrorContains(t, err, "names no version")
}

// All modules of this workspace require each other at the newest version of CHANGELOG.md.
func TestVersionsAgree(t *testing.T) {
	const root = "../.."
	v, err := newest(read(t, root, "CHANGELOG.md"))
	require.NoError(t, err)
	w, err := open(t.Context(), root)
	require.NoError(t, err)
	require.Greater(t, len(w.modules), 1)
	plain := strings.NewReplacer("require ", "", " // indirect", "")
	for _, m := range w.modules {
		for _, p := range m.requires {
			require.Contains(t, plain.Replace(read(t, root, filepath.Join(m.dir, "go.mod"))), p+" "+v+"\n", m.path)
			require.Contains(t, w.replaced, p+"@"+v)
		}
	}
}
