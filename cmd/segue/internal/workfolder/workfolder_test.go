package workfolder

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/workfolder/workfoldertest"
)

func opened(t *testing.T, dir string, own ...string) *Folder {
	t.Helper()
	f, err := Open(dir, own)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestWorkFolder_asked(t *testing.T) {
	f := opened(t, workfoldertest.Protected(t), "own")
	for path, want := range map[string]struct{ write, read Protection }{
		"src/a.go":            {"", ""},
		"plain/a.go":          {"", ""},
		".git/config":         {runsCode, holdsSecrets},
		"./a/../.git/config":  {runsCode, holdsSecrets},
		".GIT/config":         {runsCode, holdsSecrets},
		"d/config":            {runsCode, holdsSecrets},
		"e/hooks/pre-commit":  {runsCode, ""},
		"src/up/config":       {runsCode, holdsSecrets},
		"src/far/config":      {runsCode, holdsSecrets},
		"all/all/d/config":    {runsCode, holdsSecrets},
		"new/workflows/x.yml": {runsCode, ""}, // .github is not there yet
		".env":                {holdsSecrets, holdsSecrets},
		"all/src/.env.local":  {holdsSecrets, holdsSecrets},
		"plain/.env.local":    {holdsSecrets, holdsSecrets},
		"notes.txt":           {"", holdsSecrets}, // write_file replaces a link
		"all/more.txt":        {"", holdsSecrets},
		".aws/k":              {holdsSecrets, holdsSecrets},
		"own/a":               {namedByUser, namedByUser},
		"loop":                {"", ""},
		"../.git/config":      {"", ""}, // the tool refuses these
		"/etc/.env":           {"", ""},
		"not\x00there":        {"", ""},
		"":                    {"", ""},
		strings.Repeat(strings.Repeat("x", 99)+"/", 60): {"", ""}, // longer than systems take
	} {
		require.Equal(t, want.write, f.Protection(WriteFile, workfoldertest.Arguments(path)), "%q written", path)
		require.Equal(t, want.read, f.Protection(ReadFile, workfoldertest.Arguments(path)), "%q read", path)
		require.Equal(t, want.read, f.Protection(SearchFiles, workfoldertest.Arguments(path)), "%q searched", path)
		require.Empty(t, f.Protection(ListFiles, workfoldertest.Arguments(path)))
		require.Empty(t, f.Protection("deploy", workfoldertest.Arguments(path)))
	}
	for _, unreadable := range []string{"", "null", "{", `{"path":1}`, `[]`} {
		require.Empty(t, f.Protection(WriteFile, unreadable))
	}
	require.Empty(t, (*Folder)(nil).Protection(WriteFile, workfoldertest.Arguments(".env")))
}

// TestWorkFolder_itself counts the path of the folder.
func TestWorkFolder_itself(t *testing.T) {
	dir := workfoldertest.Protected(t)
	for _, name := range []string{".git", "d", ".git/../d/"} {
		require.Equal(t, runsCode, opened(t, filepath.Join(dir, name)).Protection(WriteFile, workfoldertest.Arguments("config")), name)
	}
	require.Equal(t, holdsSecrets, opened(t, filepath.Join(dir, ".aws")).Protection(ReadFile, workfoldertest.Arguments("k")), "by the name of a link")
	t.Chdir(filepath.Join(dir, ".git"))
	require.Equal(t, runsCode, opened(t, ".").Protection(WriteFile, workfoldertest.Arguments("config")))
	ours, err := Open(dir, nil, filepath.Join(dir, "src/a.go"))
	require.NoError(t, err)
	defer ours.root.Close()
	require.Equal(t, runsCode, ours.Protection(WriteFile, workfoldertest.Arguments("plain/A.go")))
	require.Empty(t, ours.Protection(ReadFile, workfoldertest.Arguments("src/a.go")))
	require.Empty(t, ours.Protection(WriteFile, workfoldertest.Arguments("src/b.go")))
}

// TestWorkFolder_noSpellingEscapes asks about a protected file however its path is written.
func TestWorkFolder_noSpellingEscapes(t *testing.T) {
	f := opened(t, workfoldertest.Protected(t))
	ways := map[string][]string{ // to what is protected, by links or not
		".git/config": {".git/config", "d/config", "e/config", "src/up/config", "src/far/config"},
		".env":        {".env", "notes.txt", "more.txt"},
		".aws/k":      {".aws/k"},
	}
	begins := []string{"", "./", "all/", "all/all/", "x/../", "all/./", "src/../"}
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom([]string{".git/config", ".env", ".aws/k"}).Draw(t, "file")
		way := rapid.SampledFrom(ways[file]).Draw(t, "way")
		if way == file { // names of links are those that there are
			way = strings.Map(func(r rune) rune {
				if file != ".aws/k" && rapid.Bool().Draw(t, "capital") {
					return unicode.ToUpper(r)
				}
				return r
			}, way)
		}
		way = strings.ReplaceAll(way, "/", rapid.SampledFrom([]string{"/", "//", "/./", "/y/../"}).Draw(t, "slash"))
		begin := rapid.SliceOfN(rapid.SampledFrom(begins), 0, 4).Draw(t, "begin")
		path := strings.Join(begin, "") + way
		require.NotEmpty(t, f.Protection(ReadFile, workfoldertest.Arguments(path))+f.Protection(WriteFile, workfoldertest.Arguments(path)), path)
	})
}

// TestGrant covers a tool below a folder, and nothing else.
func TestGrant(t *testing.T) {
	f := opened(t, workfoldertest.New(t, map[string]string{"notes/a": "", "notes/deep/b": "", "c": ""}, map[string]string{"link": "notes"}))
	of := func(tool, path string) Grant {
		g, ok := f.GrantOf(tool, workfoldertest.Arguments(path))
		require.True(t, ok)
		return g
	}
	require.Equal(t, Grant{WriteFile, "notes"}, of(WriteFile, "link/new"))
	require.Equal(t, Grant{SearchFiles, "notes"}, of(SearchFiles, "link"))
	require.Equal(t, Grant{ListFiles, "."}, of(ListFiles, ""))
	require.Equal(t, Grant{"deploy", ""}, of("deploy", "notes/a"))
	granted := map[Grant]bool{of(WriteFile, "notes/a"): true}
	require.True(t, of(WriteFile, "notes/new").Within(granted))
	require.True(t, of(WriteFile, "notes/deep/x/y").Within(granted))
	require.False(t, of(WriteFile, "c").Within(granted))
	require.False(t, of(WriteFile, "notesx/c").Within(granted))
	require.False(t, of(ReadFile, "notes/a").Within(granted))
	for _, path := range []string{"../a", "/a", ".env", "notes/.git/x"} {
		_, ok := f.GrantOf(WriteFile, workfoldertest.Arguments(path))
		require.False(t, ok, path)
	}
	_, ok := f.GrantOf(WriteFile, "{")
	require.False(t, ok)
}
