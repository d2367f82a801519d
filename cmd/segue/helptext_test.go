package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// The help of every command fits 80 columns, and begins with what it does.
func TestHelp_fits(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		var help bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		require.Zero(t, execute(args, strings.NewReader(""), &help, os.Stderr, os.Getenv))
		for line := range strings.Lines(help.String()) {
			require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), cli.HelpColumns, "%s: %s", cmd.CommandPath(), line)
		}
		require.LessOrEqual(t, len(cmd.Short), 63, cmd.CommandPath())
		for _, child := range cmd.Commands() {
			check(child)
		}
	}
	c := &cli.CLI{Stdin: strings.NewReader(""), Stdout: os.Stderr, Stderr: os.Stderr, Getenv: os.Getenv}
	check(rootCommand(c))
}

func TestFitText(t *testing.T) {
	long := strings.Repeat("word ", 20)
	require.Equal(t, strings.TrimSpace(strings.Repeat("word ", 16))+"\nword word word word and more\n\nList:\n"+
		"  name   "+strings.TrimSpace(strings.Repeat("word ", 14))+"\n         word word word word word word end\n  short  one",
		cli.FitText(strings.TrimSpace(long)+"\nand more\n\nList:\n  name   "+strings.TrimSpace(long)+"\n         end\n  short  one", cli.HelpColumns))
}

// Every command about runs takes --store and --output json, and completes what it takes.
func TestStoreCommands(t *testing.T) {
	t.Parallel()
	c := &cli.CLI{Stdin: strings.NewReader(""), Stdout: os.Stderr, Stderr: os.Stderr, Getenv: os.Getenv}
	root := rootCommand(c)
	for _, name := range []string{
		"run", "resume", "runs", "show", "answer", "stop", "prune", "forget", "replay", "diff", "fork", "export", "import", "sessions", "sessions show", "eval",
	} {
		cmd, rest, err := root.Find(strings.Fields(name))
		require.NoError(t, err)
		require.Empty(t, rest, name)
		require.NotNil(t, cmd.Flags().Lookup("store"), name)
		require.NotNil(t, cmd.Flags().Lookup("output"), name)
		require.Contains(t, cmd.Flags().Lookup("output").Value.Type(), cli.FormJSON, name)
		if strings.Contains(cmd.Use, "RUN") || strings.Contains(cmd.Use, "FILE|-") || strings.Contains(cmd.Use, "NAME") {
			require.NotNil(t, cmd.ValidArgsFunction, name)
		}
	}
}
