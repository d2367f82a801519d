package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// The help of every command fits 80 columns, and begins with what it does.
func TestHelp_fits(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		var help bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		require.Zero(t, run(args, strings.NewReader(""), &help, os.Stderr, os.Getenv))
		for line := range strings.Lines(help.String()) {
			require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), helpColumns, "%s: %s", cmd.CommandPath(), line)
		}
		require.LessOrEqual(t, len(cmd.Short), 63, cmd.CommandPath())
		for _, child := range cmd.Commands() {
			check(child)
		}
	}
	c := &cli{stdin: strings.NewReader(""), stdout: os.Stderr, stderr: os.Stderr, getenv: os.Getenv}
	check(c.root())
}

func TestFitText(t *testing.T) {
	long := strings.Repeat("word ", 20)
	require.Equal(t, strings.TrimSpace(strings.Repeat("word ", 16))+"\nword word word word and more\n\nList:\n"+
		"  name   "+strings.TrimSpace(strings.Repeat("word ", 14))+"\n         word word word word word word end\n  short  one",
		fitText(strings.TrimSpace(long)+"\nand more\n\nList:\n  name   "+strings.TrimSpace(long)+"\n         end\n  short  one", helpColumns))
}

// Every command about runs takes --store and --output json, and completes what it takes.
func TestStoreCommands(t *testing.T) {
	t.Parallel()
	c := &cli{stdin: strings.NewReader(""), stdout: os.Stderr, stderr: os.Stderr, getenv: os.Getenv}
	root := c.root()
	for _, name := range []string{
		"run", "resume", "runs", "show", "answer", "stop", "prune", "forget", "replay", "diff", "fork", "export", "import", "sessions", "sessions show",
	} {
		cmd, rest, err := root.Find(strings.Fields(name))
		require.NoError(t, err)
		require.Empty(t, rest, name)
		require.NotNil(t, cmd.Flags().Lookup("store"), name)
		require.NotNil(t, cmd.Flags().Lookup("output"), name)
		require.Contains(t, cmd.Flags().Lookup("output").Value.Type(), formJSON, name)
		if strings.Contains(cmd.Use, "RUN") || strings.Contains(cmd.Use, "FILE|-") || strings.Contains(cmd.Use, "NAME") {
			require.NotNil(t, cmd.ValidArgsFunction, name)
		}
	}
}
