package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/similar"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// cli holds the streams and the environment of the commands.
type cli struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string

	args        []string // of the command line
	interactive bool     // stdin and stderr are a terminal
}

// run executes one command line and returns its exit code. It writes an error as one line to
// stderr.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}
	c.interactive = terminal.IsTerminal(stdin) && terminal.IsTerminal(stderr)
	return c.run(args)
}

func (c *cli) run(args []string) int {
	c.args = args
	root := c.root()
	root.SetArgs(args)
	err := root.Execute()
	if err != nil {
		_, _ = fmt.Fprintln(c.stderr, "segue: "+plaintext.OneLine(err.Error())) // the exit code reports the error too
	}
	return exitCode(err)
}

const about = `Segue runs tasks with language models and tools, one step at a time.

Results go to standard output, progress and errors to standard error.

Exit codes:
  0    done
  1    the run failed
  2    the command line or the configuration cannot be used
  3    a limit was reached
  4    the run waits for somebody, and nobody can be asked here
  5    the provider or the network failed
  130  interrupted

Environment:
  OPENAI_API_KEY   the key that is sent to the server
  OPENAI_BASE_URL  the server, such as https://openrouter.ai/api/v1; OpenAI if unset
  SEGUE_MODEL      the model, unless --model says
  SEGUE_CONFIG     the configuration, unless --config says
  SEGUE_STORE      the file of the runs, unless --store says; none: runs are not kept
  SEGUE_*          other flags of segue run, such as SEGUE_APPROVE for --approve; segue config show --help lists them
  NO_COLOR         if set, no colors
  CLICOLOR_FORCE   if set and not 0, colors even where there is no terminal`

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "segue",
		Short:         "Run tasks with language models and tools",
		Long:          about,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w%s; see %s --help", err, meantFlag(cmd, err), cmd.CommandPath())
	})
	root.AddCommand(c.runCommand(), c.demoCommand())
	root.AddCommand(c.runsCommand(), c.showCommand(), c.resumeCommand(), c.answerCommand(), c.stopCommand(), c.pruneCommand(), c.forgetCommand())
	root.AddCommand(c.replayCommand(), c.diffCommand(), c.forkCommand(), c.exportCommand(), c.importCommand(), c.sessionsCommand())
	root.AddCommand(c.simulateCrashCommand())
	root.AddCommand(c.agentsCommand(), c.configCommand(), c.graphCommand(), c.parseCommand(), c.policiesCommand(), c.trustCommand(), c.versionCommand())
	fitHelp(root)
	root.SetUsageTemplate(helpUsage(root.UsageTemplate()))
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, args []string) error {
			topic, rest, err := root.Find(args)
			return errors.Join(err, knownCommand(topic, rest))
		}
	}
	return root
}

// knownCommand returns an error for an unknown command.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var near string
	cmd.SuggestionsMinimumDistance = 2 // maximum of different letters
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		near = "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return fmt.Errorf("no command %q%s; see %s --help", args[0], near, cmd.CommandPath())
}

// meantFlag returns a question about the flag that was meant, if an error is about one that a command
// does not have.
func meantFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near := similar.Nearest(unknown.GetSpecifiedName(), names)
	if near == "" {
		return ""
	}
	return "; did you mean --" + near + "?"
}

// oneArgument returns an error unless a command has one argument.
func oneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one %s; see %s --help", cmd.Name(), name, cmd.CommandPath())
	}
}

// choice is a flag that accepts one of several words. The first word is the default.
type choice struct {
	words []string
	value string
}

func oneOf(words ...string) choice { return choice{words: words, value: words[0]} }

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value: the help shows it as the value. Of many words it shows none.
func (c *choice) Type() string {
	const most = 40
	if words := strings.Join(c.words, "|"); len(words) <= most {
		return words
	}
	return "NAME"
}

// Set implements pflag.Value.
func (c *choice) Set(word string) error {
	for _, w := range c.words {
		if w == word {
			c.value = w
			return nil
		}
	}
	return errors.New("it is one of: " + strings.Join(c.words, ", ") + similar.Hint(word, c.words))
}

// offer adds the flag to cmd, with completion.
func (c *choice) offer(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage)
	// The only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
}
