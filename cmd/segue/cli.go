package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/internal/similar"
)

// cli holds the streams and the environment of the commands.
type cli struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string

	interactive bool // somebody can be asked: at stdin and stderr, or at tty and stderr
	mcp         *mcpServers
	ahead       []byte   // what was typed for the next prompt while a run was at work
	tty         *os.File // the terminal of the process, if stdin is something else and somebody can be asked there; or nil
}

// run executes one command line and returns its exit code. It writes an error as one line to
// stderr.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv, mcp: &mcpServers{}}
	defer c.mcp.close()
	c.interactive = terminal.IsTerminal(stdin) && terminal.IsTerminal(stderr)
	if !c.interactive && terminal.IsTerminal(stderr) && c.isFed() {
		if c.tty = terminal.Controlling(); c.tty != nil {
			defer func() { _ = c.tty.Close() }()
			c.interactive = true
		}
	}
	return c.run(args)
}

// keyboard returns what the user types on.
func (c *cli) keyboard() io.Reader {
	if c.tty != nil {
		return c.tty
	}
	return c.stdin
}

func (c *cli) run(args []string) int {
	root := c.root()
	root.SetArgs(args)
	err := inOurWords(root.Execute())
	if err != nil {
		_, _ = fmt.Fprintln(c.stderr, "segue: "+plainwords.Line(err)) // the exit code reports the error too
	}
	return exitCode(err)
}

var about = `Segue runs tasks with language models and tools, one step at a time.

Results go to standard output, progress and errors to standard error.

Exit codes:` + exitHelp() + `

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
	root.SetFlagErrorFunc(flagError)
	root.Flags().Bool("version", false, "say what was built, and of what")
	info, _ := debug.ReadBuildInfo()
	root.Version = versionOf(info)
	root.SetVersionTemplate(versionText(info)) // no template: it has no braces
	root.AddCommand(c.runCommand(), c.chatCommand(), c.demoCommand())
	root.AddCommand(c.runsCommand(), c.showCommand(), c.resumeCommand(), c.answerCommand(), c.noteCommand(), c.stopCommand(), c.pruneCommand(), c.forgetCommand())
	root.AddCommand(c.replayCommand(), c.diffCommand(), c.forkCommand(), c.exportCommand(), c.importCommand(), c.sessionsCommand())
	root.AddCommand(c.agentsCommand(), c.configCommand(), c.doctorCommand(), c.modelsCommand(), c.graphCommand(), c.boundCommand(), c.checkCommand(), c.parseCommand(), c.policiesCommand(), c.trustCommand(), c.toolsCommand(), c.mcpCommand(), c.versionCommand())
	root.AddCommand(c.manCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	wordCompletion(root)
	fitHelp(root)
	root.SetUsageTemplate(helpUsage(root.UsageTemplate()))
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Short = "Show the help of a command"
		help.Long = "Help shows what a command does, and its flags, as COMMAND --help does."
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

// meantFlag returns a question about the flag that was meant, if an error is about one that a
// command does not have.
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
	const most = 25
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

// shorthands are the short forms of flags that are choices, the same in every command.
var shorthands = map[string]string{"output": "o"}

// offer adds the flag to cmd, with completion.
func (c *choice) offer(cmd *cobra.Command, name, usage string) {
	cmd.Flags().VarP(c, name, shorthands[name], usage)
	// The only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
}
