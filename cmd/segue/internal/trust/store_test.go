package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/internal/waittest"
)

// newStore is an empty record.
func newStore(t *testing.T) Store {
	return Store{filepath.Join(t.TempDir(), "state", "segue", "trust.json")}
}

// The form of the record is fixed: later programs read it.
func TestStore_form(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the golden file are those of Unix")
	}
	s := newStore(t)
	require.NoError(t, s.Add(FileOf("/home/ada/plans/segue.yaml", []byte("agents: {a: {}}\n"), "")))
	require.NoError(t, s.Add(FileOf("/home/ada/letters/segue.yaml", []byte("agents: {b: {}}\n"), "https://api.openai.com:443")))
	require.NoError(t, s.Add(FileOf("/home/ada/long/segue.yaml", []byte(strings.Repeat("#", maxTrustedText+1)), "")))
	got, err := os.ReadFile(s.Path)
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join("testdata", "version1.json"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))

	require.NoError(t, os.WriteFile(s.Path, want, 0o600))
	record, err := s.Load()
	require.NoError(t, err)
	require.Len(t, record.Files, 3)
	f, ok := record.find("/home/ada/letters/segue.yaml")
	require.True(t, ok)
	require.Equal(t, FileOf(f.Path, []byte("agents: {b: {}}\n"), "https://api.openai.com:443"), f)
}

// Only the user can read the record, and nothing else is left in its folder.
func TestStore_permissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are others here")
	}
	s := newStore(t)
	require.NoError(t, s.Add(FileOf("/a", nil, "")))
	for path, want := range map[string]os.FileMode{s.Path: 0o600, filepath.Dir(s.Path): 0o700} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
	entries, err := os.ReadDir(filepath.Dir(s.Path))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, "trust.json.lock", entries[1].Name())
}

// A record that this program did not write is refused by name, whole: nothing in it is trusted, and
// nothing is written over it.
func TestStore_damaged(t *testing.T) {
	const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for text, want := range map[string]string{
		`{"version":2,"files":[],"more":1}`: "it has version 2, and this segue knows version 1",
		`{"files":[]}`:                      "it has version 0",
		`[]`:                                "cannot unmarshal array",
		`{"version":1,"files":[`:            "unexpected end of JSON input",
		`{"version":1,"files":[]} x`:        "invalid character 'x'",
		`{"version":1,"trust":"all"}`:       `unknown field "trust"`,
		`{"version":1,"files":[{"path":"/a","sha256":"*"}]}`:                                                "its entry 1 is damaged",
		`{"version":1,"files":[{"path":"a","sha256":"` + sum + `"}]}`:                                       "its entry 1 is damaged",
		`{"version":1,"files":[{"path":"/a","sha256":"` + sum + `"},{"path":"/a","sha256":"` + sum + `"}]}`: "its entry 2 is damaged",
		"": "unexpected end of JSON input",
	} {
		s := newStore(t)
		require.NoError(t, os.MkdirAll(filepath.Dir(s.Path), 0o700))
		require.NoError(t, os.WriteFile(s.Path, []byte(text), 0o600))
		_, err := s.Load()
		require.ErrorContains(t, err, "cannot use the record of trusted files, "+s.Path+": ", text)
		require.ErrorContains(t, err, want, text)
		require.Error(t, s.Add(FileOf("/a", nil, "")))
		kept, err := os.ReadFile(s.Path)
		require.NoError(t, err)
		require.Equal(t, text, string(kept))
	}
}

// What several processes trust at the same time is all there in the end, and what one of them
// removes is gone.
func TestStore_atOnce(t *testing.T) {
	s := newStore(t)
	folder := t.TempDir()
	require.NoError(t, s.Add(FileOf(filepath.Join(folder, "old"), nil, "")))
	errs := make([]error, 12)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			if i == 5 {
				errs[i] = s.Remove(filepath.Join(folder, "old"))
				return
			}
			errs[i] = s.Add(FileOf(filepath.Join(folder, fmt.Sprint(i)), nil, ""))
		})
	}
	waittest.All(t, &all)
	for _, err := range errs {
		require.NoError(t, err)
	}
	record, err := s.Load()
	require.NoError(t, err)
	require.Len(t, record.Files, len(errs)-1)
	_, ok := record.find(filepath.Join(folder, "old"))
	require.False(t, ok)
	require.ErrorContains(t, s.Remove(filepath.Join(folder, "old")), "is not trusted; segue trust --list lists what is")
}

// A path is one, however it is reached; a file that is a link is not what it points to.
func TestPath(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "real"), 0o700))
	if err := os.Symlink("real", filepath.Join(folder, "link")); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	require.NoError(t, os.Symlink("elsewhere.yaml", filepath.Join(folder, "real", locate.FileName)))
	want := filepath.Join(folder, "real", locate.FileName)
	for _, path := range []string{want, filepath.Join(folder, "link", locate.FileName), folder + "/link/../real/./" + locate.FileName} {
		got, err := Path(path)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	t.Chdir(filepath.Join(folder, "link"))
	got, err := Path(locate.FileName)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Where there is no folder for the record, nothing is trusted.
func TestStore_nowhere(t *testing.T) {
	for _, env := range []map[string]string{{}, {"HOME": "home", "XDG_STATE_HOME": "state"}} {
		_, err := UserStore(func(name string) string { return env[name] })
		require.ErrorContains(t, err, "set HOME or XDG_STATE_HOME")
	}
}
