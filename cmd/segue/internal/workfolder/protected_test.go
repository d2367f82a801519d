package workfolder

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestProtectedFiles(t *testing.T) {
	p, err := NewProtectedFiles([]string{"deploy/**", "**/keys/*.txt", "/ops/", "Plan.md"})
	require.NoError(t, err)
	for name, want := range map[string]struct{ changed, read Protection }{
		"a.txt":                     {"", ""},
		".git/config":               {runsCode, holdsSecrets}, // addresses of remotes may have a token
		".git/HEAD":                 {runsCode, ""},
		".config/git/config":        {runsCode, ""},
		".config/environment.d/a":   {runsCode, ""},
		"src/.gdbinit":              {runsCode, ""},
		".Rprofile":                 {runsCode, ""},
		"proc/1/environ":            {holdsSecrets, holdsSecrets},
		"proc/1/task/1/environ":     {holdsSecrets, holdsSecrets},
		"a/b/.git/hooks/pre-commit": {runsCode, ""},
		".GIT/hooks/x":              {runsCode, ""},
		".gıt/config":               {"", ""}, // a dotless i is another letter
		".git./HEAD":                {runsCode, ""},
		".git /HEAD":                {runsCode, ""},
		".g\u200cit/HEAD":           {runsCode, ""},
		".git::$INDEX_ALLOCATION/x": {runsCode, ""},
		".gitignore":                {"", ""},
		"x.git/config":              {"", ""},
		"makefile":                  {runsCode, ""},
		"rules.MK":                  {runsCode, ""},
		"src/Makefile.am":           {"", ""},
		"SEGUE.yaml":                {runsCode, ""},
		"segue.yml":                 {runsCode, ""},
		".config/segue/trust.json":  {runsCode, ""},
		"docker-compose.dev.yml":    {runsCode, ""},
		"CLAUDE.md":                 {runsCode, ""},
		".env":                      {holdsSecrets, holdsSecrets},
		".env.local":                {holdsSecrets, holdsSecrets},
		".env::$DATA":               {holdsSecrets, holdsSecrets},
		".envrc":                    {runsCode, holdsSecrets},
		"environment":               {"", ""},
		"tls/server.pem":            {holdsSecrets, holdsSecrets},
		"\u212aube.\u212aey":        {holdsSecrets, holdsSecrets}, // the sign for kelvin is a k
		".\u017f\u017fh/known":      {runsCode, holdsSecrets},     // and a long s an s
		".docker/config.json":       {holdsSecrets, holdsSecrets},
		".docker/x/config.json":     {"", ""},
		"config.json":               {"", ""},
		".aws/x/y":                  {holdsSecrets, holdsSecrets},
		"key":                       {"", ""},
		"deploy/a/b":                {namedByUser, namedByUser},
		"x/Deploy":                  {namedByUser, namedByUser},
		"a/keys/b.txt":              {namedByUser, namedByUser},
		"keys/b.md":                 {"", ""},
		"ops/x":                     {namedByUser, namedByUser},
		"plan.md":                   {namedByUser, namedByUser},
	} {
		require.Equal(t, want.changed, p.reason(namesIn(name), true), "%q changed", name)
		require.Equal(t, want.read, p.reason(namesIn(name), false), "%q read", name)
	}
	for _, wrong := range []string{"", "/", ".", "./", "[", "a/[", "../a", "a/../b"} {
		_, err := NewProtectedFiles([]string{wrong})
		require.Error(t, err, wrong)
	}
}

// TestProtectedFiles_each protects whatever is in the lists, in capitals too, and all below it.
func TestProtectedFiles_each(t *testing.T) {
	p, err := NewProtectedFiles(nil)
	require.NoError(t, err)
	for changed, list := range map[bool]string{true: codeGlobs, false: secretGlobs} {
		for text := range strings.FieldsSeq(list) {
			name := strings.ToUpper(strings.ReplaceAll(text, "*", "x"))
			require.NotEmpty(t, p.reason(namesIn("a/"+name), changed), name)
			require.NotEmpty(t, p.reason(namesIn(name+"/b/c"), changed), name)
		}
	}
}

// TestProtectedFiles_documented holds the lists of the documentation against those of the code.
func TestProtectedFiles_documented(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var lists []string
	for _, found := range regexp.MustCompile("(?s)```text(\n.*?)```").FindAllSubmatch(readme, -1) {
		lists = append(lists, string(found[1]))
	}
	require.Equal(t, []string{codeGlobs, secretGlobs}, lists)
}

// TestGlob_agreesWithASearch decides without going back over everything what a plain search
// decides.
func TestGlob_agreesWithASearch(t *testing.T) {
	var begins func(g glob, names []string) bool
	begins = func(g glob, names []string) bool {
		switch {
		case len(g) == 0:
			return true
		case g[0] == "**":
			return begins(g[1:], names) || len(names) > 0 && begins(g, names[1:])
		default:
			return len(names) > 0 && fits(g[0], names[0]) && begins(g[1:], names[1:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		g := glob(rapid.SliceOfN(rapid.SampledFrom([]string{"**", "a", "b", "*"}), 1, 6).Draw(t, "glob"))
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 7).Draw(t, "names")
		want := false
		for i := range len(names) + 1 {
			want = want || begins(g, names[i:])
		}
		require.Equal(t, want, g.matches(names))
	})
}
