package attachment

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPathsIn reads paths as they are typed, and as terminals write what is dropped onto them.
func TestPathsIn(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("it's one.txt", nil, 0o600))
	for line, want := range map[string][]string{
		"a.txt":                         {"a.txt"},
		" a.txt  b.txt ":                {"a.txt", "b.txt"},
		"it's one.txt":                  {"it's one.txt"},
		`"my notes.txt" b`:              {"my notes.txt", "b"},
		`'/tmp/my notes.png'`:           {"/tmp/my notes.png"},
		`/tmp/my\ notes.png b`:          {"/tmp/my notes.png", "b"},
		`ann's.txt b`:                   {"ann's.txt", "b"},
		`'it'\''s' ""`:                  {"it's", ""},
		`C:\notes\a.txt`:                {`C:\notes\a.txt`},
		`'a\ b'`:                        {`a\ b`},
		"日本\u3000語.txt \"é \\\"x\\\"\"": {"日本\u3000語.txt", `é "x"`},
	} {
		require.Equal(t, want, PathsIn(line), line)
	}
}
