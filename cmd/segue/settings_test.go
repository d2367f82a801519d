package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// variableless are the flags of segue run for which there is no variable.
var variableless = []string{"file", "help", "json"}

// Every flag of segue run has a variable, or stands in the list of those that have none; the README
// of the command names each.
func TestSettings_everyFlag(t *testing.T) {
	t.Parallel()
	c := &cli{stdin: strings.NewReader(""), stdout: os.Stderr, stderr: os.Stderr, getenv: os.Getenv}
	run, _, err := c.root().Find([]string{"run"})
	require.NoError(t, err)
	guide, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	run.InitDefaultHelpFlag()
	run.Flags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(variableless, flag.Name) {
			return
		}
		require.Contains(t, settingFlags, flag.Name, "add it to settingFlags or to variableless")
		require.Contains(t, string(guide), "`"+variableOf(flag.Name)+"`", "docs/configuration.md lists the variables")
	})
	for _, name := range settingFlags {
		require.NotNil(t, run.Flags().Lookup(name), name)
	}
}

// A setting of a profile is a flag of segue run.
func TestSettings_profileIsOfFlags(t *testing.T) {
	t.Parallel()
	o := newObliging(t)
	got := segue(t, "profiles:\n  p: {agent: a, source: s, strategy: react, model: m, base_url: '"+o.URL+"', policy: hermes, system: s, dir: ., approve: never, protect: [x], no_ask: true, max_steps: 4}\n"+
		"agents: {a: {}, b: {}}\n", map[string]string{"OPENAI_API_KEY": "canary"}, "-P", "p", "Go")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "[0] a: Go")
	require.Contains(t, strings.Join(o.asked(), "\n"), `"model":"m"`)
}

// docs/configuration.md shows what config show says of its example.
func TestConfigShow_docs(t *testing.T) {
	guide, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(guide), "```yaml\n")
	require.True(t, ok)
	example, rest, _ := strings.Cut(rest, "```")
	_, rest, ok = strings.Cut(rest, "$ SEGUE_SYSTEM='You are brief.' segue config show --origin -P draft --max-steps 5\n")
	require.True(t, ok)
	want, _, _ := strings.Cut(rest, "```")
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("segue.yaml", []byte(example), 0o600))
	env := map[string]string{"SEGUE_SYSTEM": "You are brief.", "SEGUE_CONFIG": "segue.yaml"}
	var stdout, stderr bytes.Buffer
	code := run([]string{"config", "show", "--origin", "-P", "draft", "--max-steps", "5"}, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
	require.Zero(t, code, stderr.String())
	words := func(text string) string { // the width of the columns depends on the folder
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	require.Equal(t, words(strings.ReplaceAll(want, "/home/ada/plans", here)), words(stdout.String()))
}
