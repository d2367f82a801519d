package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
)

// variableless are the flags of segue run for which there is no variable.
var variableless = []string{"file", "help", "json"}

// Every flag of segue run has a variable, or stands in the list of those that have none; the README
// of the command names each.
func TestSettings_everyFlag(t *testing.T) {
	t.Parallel()
	c := &cli.CLI{Stdin: strings.NewReader(""), Stdout: os.Stderr, Stderr: os.Stderr, Getenv: os.Getenv}
	cmd, _, err := rootCommand(c).Find([]string{"run"})
	require.NoError(t, err)
	guide, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(variableless, flag.Name) {
			return
		}
		require.Contains(t, run.SettingFlags, flag.Name, "add it to SettingFlags or to variableless")
		require.Contains(t, string(guide), "`"+run.VariableOf(flag.Name)+"`", "docs/configuration.md lists the variables")
	})
	for _, name := range run.SettingFlags {
		require.NotNil(t, cmd.Flags().Lookup(name), name)
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

// TestConfigShow_everySetting shows each setting that has a variable, whoever says it.
func TestConfigShow_everySetting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "segue.yaml")
	require.NoError(t, os.WriteFile(file, []byte("agents: {a: {}}\n"), 0o600))
	env := map[string]string{"SEGUE_SESSION": "trip", "SEGUE_STDIN": "none", "SEGUE_ASK": "true", "SEGUE_PLAIN": "true", "SEGUE_STORE": "none"}
	for _, by := range []struct {
		origin func(flag string) string
		args   []string
		env    map[string]string
	}{
		{run.VariableOf, nil, env},
		{func(flag string) string { return "--" + flag }, []string{"--session", "trip", "--stdin", "none", "--ask", "--plain", "--store", "none"}, nil},
	} {
		code, stdout, stderr := ask(t, by.env, append([]string{"config", "show", "--config", file, "--output", "json"}, by.args...)...)
		require.Zero(t, code, stderr)
		var rows []config.SettingRecord
		require.NoError(t, json.Unmarshal([]byte(stdout), &rows))
		shown := map[string]config.SettingRecord{}
		for _, r := range rows {
			shown[r.Setting] = r
		}
		for _, name := range run.SettingFlags {
			require.Contains(t, shown, name)
		}
		for setting, value := range map[string]string{"session": "trip", "stdin": "none", "ask": "true", "plain": "true", "store": "none"} {
			require.Equal(t, config.SettingRecord{Setting: setting, Value: value, Origin: by.origin(setting)}, shown[setting])
		}
	}
}

// A variable is named where what it says makes no sense.
func TestSettings_noSteps(t *testing.T) {
	t.Parallel()
	code, _, stderr := ask(t, map[string]string{"SEGUE_MAX_STEPS": "0"}, "run", "Go")
	require.Equal(t, cli.ExitUsage, code)
	require.Equal(t, "segue: SEGUE_MAX_STEPS 0 lets the run do nothing: give a number from 1 on, or -1 for no bound\n", stderr)
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
	want, _, ok := strings.Cut(rest, "…\n```")
	require.True(t, ok)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("segue.yaml", []byte(example), 0o600))
	env := map[string]string{"SEGUE_SYSTEM": "You are brief.", "SEGUE_CONFIG": "segue.yaml"}
	var stdout, stderr bytes.Buffer
	code := execute([]string{"config", "show", "--origin", "-P", "draft", "--max-steps", "5"}, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
	require.Zero(t, code, stderr.String())
	words := func(text string) string { // the width of the columns depends on the folder
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	require.True(t, strings.HasPrefix(words(stdout.String()), words(want)+"\n"), stdout.String())
}
