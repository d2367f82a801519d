package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Settings of a profile are those of flags. A file that was found can say only what allows no more
// than a run without the profile.
func TestSettings(t *testing.T) {
	c := sound(t, `agents: {a: {}}
profiles:
  all: {no_ask: false, max_steps: -1, protect: [x, y], approve: never, model: m}
  server: {base_url: "http://h/v1"}
  folder: {dir: .}
  free: {approve: always}
  later: {approve: untrusted}
`)
	want := []Setting{
		{"approve", []string{"never"}, Position{3, 56}},
		{"max-steps", []string{"-1"}, Position{3, 24}},
		{"model", []string{"m"}, Position{3, 72}},
		{"no-ask", []string{"false"}, Position{3, 9}},
		{"protect", []string{"x", "y"}, Position{3, 39}},
	}
	for _, found := range []bool{false, true} {
		c.Found = found
		got, err := c.Settings("all")
		require.NoError(t, err)
		require.Equal(t, want, got)
		for name, key := range map[string]string{"server": "base_url", "folder": "dir", "free": "approve", "later": "approve"} {
			_, err := c.Settings(name)
			if !found {
				require.NoError(t, err, name)
				continue
			}
			require.ErrorContains(t, err, "profiles."+name+"."+key+": a file that was found cannot say this; say --"+flagOf(key), name)
		}
		_, err = c.Settings("al")
		require.EqualError(t, err, `no profile "al" in segue.yaml (did you mean all?); there are: all, folder, free, later, server`)
	}
}
