package run

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/config"
)

// Settings of a profile are those of flags. A file that was found can say only what allows no more
// than a run without the profile.
func TestFromProfile(t *testing.T) {
	c, err := config.Parse("segue.yaml", []byte(`agents: {a: {}}
profiles:
  all: {no_ask: false, max_steps: -1000000, protect: [x, y], approve: never, model: m}
  server: {base_url: "http://h/v1"}
  folder: {dir: .}
  free: {approve: always}
  later: {approve: untrusted}
`))
	require.NoError(t, err)
	read := func(profile string) (*settings, error) {
		s := &settings{flags: pflag.NewFlagSet("", pflag.ContinueOnError), Profile: profile, origins: map[string]string{}}
		for _, name := range []string{"approve", "model", "base-url", "dir"} {
			s.flags.String(name, "", "")
		}
		s.flags.Bool("no-ask", true, "")
		s.flags.Int("max-steps", 0, "")
		s.flags.StringArray("protect", nil, "")
		return s, s.FromProfile(c)
	}
	for _, c.Found = range []bool{false, true} {
		s, err := read("all")
		require.NoError(t, err)
		got := map[string]string{}
		s.flags.Visit(func(f *pflag.Flag) { got[f.Name] = f.Value.String() + " by " + s.SaidBy(f.Name) })
		require.Equal(t, map[string]string{
			"approve":   "never by profile all, segue.yaml:3:62",
			"max-steps": "-1000000 by profile all, segue.yaml:3:24",
			"model":     "m by profile all, segue.yaml:3:78",
			"no-ask":    "false by profile all, segue.yaml:3:9",
			"protect":   "[x,y] by profile all, segue.yaml:3:45",
		}, got)
		for name, flag := range map[string]string{"server": "base-url", "folder": "dir", "free": "approve", "later": "approve"} {
			if _, err := read(name); !c.Found {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, ": a file that was found cannot say this; say --"+flag, name)
			}
		}
		_, err = read("al")
		require.EqualError(t, err, `no profile "al" in segue.yaml (did you mean all?); there are: all, folder, free, later, server`)
	}
}
