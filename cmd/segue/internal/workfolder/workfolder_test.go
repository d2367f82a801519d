package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func opened(t *testing.T, dir string, own ...string) *workFolder {
	t.Helper()
	f, err := openFolder(dir, own)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.close() })
	return f
}

func TestWorkFolder_asked(t *testing.T) {
	f := opened(t, protectedFolder(t), "own")
	for path, want := range map[string]struct{ write, read protection }{
		"src/a.go":                 {"", ""},
		"plain/a.go":               {"", ""},
		".git/config":              {runsCode, holdsSecrets},
		"./a/../.git/config":       {runsCode, holdsSecrets},
		".GIT/config":              {runsCode, holdsSecrets},
		"d/config":                 {runsCode, holdsSecrets},
		"e/hooks/pre-commit":       {runsCode, ""},
		"src/up/config":            {runsCode, holdsSecrets},
		"src/far/config":           {runsCode, holdsSecrets},
		"all/all/d/config":         {runsCode, holdsSecrets},
		"new/workflows/x.yml":      {runsCode, ""}, // .github is not there yet
		".env":                     {holdsSecrets, holdsSecrets},
		"all/src/.env.local":       {holdsSecrets, holdsSecrets},
		"plain/.env.local":         {holdsSecrets, holdsSecrets},
		"notes.txt":                {"", holdsSecrets}, // write_file replaces a link
		"all/more.txt":             {"", holdsSecrets},
		".aws/k":                   {holdsSecrets, holdsSecrets},
		"own/a":                    {namedByUser, namedByUser},
		"loop":                     {"", ""},
		"../.git/config":           {"", ""}, // the tool refuses these
		"/etc/.env":                {"", ""},
		"not\x00there":             {"", ""},
		"":                         {"", ""},
		strings.Repeat("x/", 3000): {"", ""},
	} {
		require.Equal(t, want.write, f.asked(writeFile, on(path)), "%q written", path)
		require.Equal(t, want.read, f.asked(readFile, on(path)), "%q read", path)
		require.Equal(t, want.read, f.asked(searchFiles, on(path)), "%q searched", path)
		require.Empty(t, f.asked(listFiles, on(path)))
		require.Empty(t, f.asked("deploy", on(path)))
	}
	for _, unreadable := range []string{"", "null", "{", `{"path":1}`, `[]`} {
		require.Empty(t, f.asked(writeFile, unreadable))
	}
	require.Empty(t, (*workFolder)(nil).asked(writeFile, on(".env")))
}

// TestWorkFolder_itself counts the path of the folder.
func TestWorkFolder_itself(t *testing.T) {
	dir := protectedFolder(t)
	for _, name := range []string{".git", "d", ".git/../d/"} {
		require.Equal(t, runsCode, opened(t, filepath.Join(dir, name)).asked(writeFile, on("config")), name)
	}
	require.Equal(t, holdsSecrets, opened(t, filepath.Join(dir, ".aws")).asked(readFile, on("k")), "by the name of a link")
	t.Chdir(filepath.Join(dir, ".git"))
	require.Equal(t, runsCode, opened(t, ".").asked(writeFile, on("config")))
	ours, err := openFolder(dir, nil, filepath.Join(dir, "src/a.go"))
	require.NoError(t, err)
	defer ours.root.Close()
	require.Equal(t, runsCode, ours.asked(writeFile, on("plain/A.go")))
	require.Empty(t, ours.asked(readFile, on("src/a.go")))
	require.Empty(t, ours.asked(writeFile, on("src/b.go")))
}

// TestWorkFolder_noSpellingEscapes asks about a protected file however its path is written.
func TestWorkFolder_noSpellingEscapes(t *testing.T) {
	f := opened(t, protectedFolder(t))
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
		require.NotEmpty(t, f.asked(readFile, on(path))+f.asked(writeFile, on(path)), path)
	})
}

// TestGrant covers a tool below a folder, and nothing else.
func TestGrant(t *testing.T) {
	f := opened(t, folderWith(t, map[string]string{"notes/a": "", "notes/deep/b": "", "c": ""}, map[string]string{"link": "notes"}))
	of := func(tool, path string) grant {
		g, ok := f.grantOf(tool, on(path))
		require.True(t, ok)
		return g
	}
	require.Equal(t, grant{writeFile, "notes"}, of(writeFile, "link/new"))
	require.Equal(t, grant{searchFiles, "notes"}, of(searchFiles, "link"))
	require.Equal(t, grant{listFiles, "."}, of(listFiles, ""))
	require.Equal(t, grant{"deploy", ""}, of("deploy", "notes/a"))
	granted := map[grant]bool{of(writeFile, "notes/a"): true}
	require.True(t, of(writeFile, "notes/new").within(granted))
	require.True(t, of(writeFile, "notes/deep/x/y").within(granted))
	require.False(t, of(writeFile, "c").within(granted))
	require.False(t, of(writeFile, "notesx/c").within(granted))
	require.False(t, of(readFile, "notes/a").within(granted))
	for _, path := range []string{"../a", "/a", ".env", "notes/.git/x"} {
		_, ok := f.grantOf(writeFile, on(path))
		require.False(t, ok, path)
	}
	_, ok := f.grantOf(writeFile, "{")
	require.False(t, ok)
}
