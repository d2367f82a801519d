package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/chat"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/check"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/eval"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/mcp"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/models"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/runs"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// execute executes one command line and returns its exit code. It writes an error as one line to
// stderr.
func execute(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	c := &cli.CLI{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv, MCP: &cli.MCPServers{}}
	defer c.MCP.Close()
	c.Interactive = terminal.IsTerminal(stdin) && terminal.IsTerminal(stderr)
	if !c.Interactive && terminal.IsTerminal(stderr) && c.IsFed() {
		if c.Tty = terminal.Controlling(); c.Tty != nil {
			defer func() { _ = c.Tty.Close() }()
			c.Interactive = true
		}
	}
	root := rootCommand(c)
	root.SetArgs(args)
	err := cli.InOurWords(root.Execute())
	if err != nil {
		_, _ = fmt.Fprintln(c.Stderr, "segue: "+plainwords.Line(err)) // the exit code reports the error too
	}
	return cli.ExitCode(err)
}

var about = `Segue runs tasks with language models and tools, one step at a time.

Results go to standard output, progress and errors to standard error.

Exit codes:` + cli.ExitHelp() + `

Environment:
  OPENAI_API_KEY   the key that is sent to the server
  OPENAI_BASE_URL  the server, such as https://openrouter.ai/api/v1; OpenAI if unset
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL  the same for Anthropic's API: segue run --api anthropic -m MODEL
  SEGUE_MODEL      the model, unless --model says
  SEGUE_CONFIG     the configuration, unless --config says
  SEGUE_IDLE_TIMEOUT  the longest silence of the server, unless --idle-timeout says
  SEGUE_STORE      the file of the runs, unless --store says; none: runs are not kept
  SEGUE_*          other flags of segue run, such as SEGUE_APPROVE for --approve; segue config show --help lists them
  NO_COLOR         if set, no colors
  CLICOLOR_FORCE   if set and not 0, colors even where there is no terminal
  TERM             dumb: nothing is written anew, as with --plain`

func rootCommand(c *cli.CLI) *cobra.Command {
	root := &cobra.Command{
		Use:           "segue",
		Short:         "Run tasks with language models and tools",
		Long:          about,
		Args:          cli.KnownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(c.Stdin)
	root.SetOut(c.Stdout)
	root.SetErr(c.Stderr)
	root.SetFlagErrorFunc(cli.FlagError)
	root.Flags().Bool("version", false, "say what was built, and of what")
	info, _ := debug.ReadBuildInfo()
	root.Version = cli.VersionOf(info)
	root.SetVersionTemplate(cli.VersionText(info)) // no template: it has no braces
	for _, commands := range []func(*cli.CLI) []*cobra.Command{
		run.Commands, chat.Commands, runs.Commands, config.Commands, models.Commands, mcp.Commands, check.Commands, eval.Commands,
	} {
		root.AddCommand(commands(c)...)
	}
	root.AddCommand(versionCommand(c), manCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	wordCompletion(root)
	cli.FitHelp(root)
	root.SetUsageTemplate(cli.HelpUsage(root.UsageTemplate()))
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Short = "Show the help of a command"
		help.Long = "Help shows what a command does, and its flags, as COMMAND --help does."
		help.Args = func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			return errors.Join(err, cli.KnownCommand(topic, rest))
		}
	}
	return root
}
