package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// everyCommand calls check for each command.
func everyCommand(check func(name string, cmd *cobra.Command)) {
	c := &cli.CLI{Stdin: strings.NewReader(""), Stdout: os.Stderr, Stderr: os.Stderr, Getenv: os.Getenv}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		check(strings.TrimPrefix(cmd.CommandPath(), "segue "), cmd)
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(rootCommand(c))
}

// Every command writes JSON if it is asked to, except those that write a text that has its own
// form.
func TestCommands_writeJSON(t *testing.T) {
	own := []string{"segue", "config", "config schema", "mcp", "mcp serve", "parse", "eval add", "man", "help", "completion", "completion bash", "completion zsh", "completion fish", "completion powershell"}
	everyCommand(func(name string, cmd *cobra.Command) {
		if slices.Contains(own, name) {
			return
		}
		flag := cmd.Flags().Lookup("output")
		require.NotNil(t, flag, name)
		require.Equal(t, "o", flag.Shorthand, name)
		require.Contains(t, flag.Value.(*cli.Choice).Words, cli.FormJSON, name)
	})
}

// What is wrong with arguments is said in the words of this command, not of a library.
func TestCommands_wrongArguments(t *testing.T) {
	everyCommand(func(name string, cmd *cobra.Command) {
		args := []string{"one", "two", "three", "four"}
		if cmd.Args == nil {
			require.Contains(t, []string{"help", "models", "tools"}, name, "it takes any words")
			return
		}
		err := cmd.Args(cmd, args)
		require.Error(t, err, name)
		for _, word := range []string{"arg(s)", "unknown command", "accepts"} {
			require.NotContains(t, err.Error(), word, name)
		}
	})
}

// Library words about flags are gone, whatever the flag.
func TestCommands_wrongFlags(t *testing.T) {
	everyCommand(func(name string, cmd *cobra.Command) {
		for _, args := range [][]string{{"--none"}, {"--none=1"}, {"-Z"}, {"--max-steps=x"}, {"--limit=x"}, {"--output=x"}, {"--quiet=x"}} {
			err := cmd.ParseFlags(args)
			require.Error(t, err, name)
			text := cli.FlagError(cmd, err).Error()
			for _, word := range []string{"strconv", "unknown", "invalid argument", "shorthand", "ParseInt"} {
				require.NotContains(t, text, word, name)
			}
			require.Contains(t, text, "; see "+cmd.CommandPath()+" --help")
		}
	})
}

func TestRoff(t *testing.T) {
	require.Equal(t, "\\&.EX\na\\e.b\n\\&'x", roff(".EX\na\\.b\n'x"))
}
