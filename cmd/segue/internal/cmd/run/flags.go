package run

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/tools"
)

// Flags are the flags of segue run.
type Flags struct {
	Strategy cli.Choice
	Model    string
	API      cli.Choice // "": as the configuration says, or chat
	BaseURL  string
	Policy   string
	Idle     string
	System   string
	Dir      string
	Approve  cli.Choice
	Protect  []string
	NoAsk    bool
	Ask      bool
	MaxSteps int
	Config   string
	Agent    string
	Source   string
	Session  string
	Files    []string // that the model is given with the task
	Stdin    cli.Choice
	Store    cli.StoreFlag
	Out      cli.Output
	Settings settings // from variables and a profile

	Given       func(flag string) bool // reports whether a flag was given
	Reads       bool                   // no model is asked: the run is only read
	Unconnected bool                   // no MCP server is asked: its tools are left out
	Alien       bool                   // what the run was begun with stands in a file from elsewhere, and is trusted no more than that
	fed         bool                   // something from standard input was joined to the task
	begun       *Begun                 // what the run was begun with that goes on, or is read; nil: none
	Mute        bool                   // neither the configuration is said, nor what is not as it was when the run began
	Tools       []tools.Tool           // besides those for files
	Client      llmclient.Client       // of another job with the same models; nil: one is made
	Usual       string                 // a word of --approve where nothing is said; "": ask
}

// NewFlags returns the flags of segue run before they are read.
func NewFlags() *Flags {
	return &Flags{
		Strategy: cli.OneOf(strategies.Words()...),
		Approve:  cli.OneOf(approve.Words...),
		Stdin:    cli.OneOf(StdinAuto, StdinWait, stdinNone),
	}
}

// OfferTurn adds the flags about the conversation and standard input to cmd.
func (f *Flags) OfferTurn(c *cli.CLI, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Session, "session", "", "make the run the next turn of the conversation with this `NAME`, or the first")
	_ = cmd.RegisterFlagCompletionFunc("session", c.CompleteSessions(&f.Store)) // the only error is an unknown flag
	f.Stdin.Offer(cmd, "stdin", "whether what comes from standard input is joined to the task")
}

// IdleUsage is the help of --idle-timeout.
const IdleUsage = "longest silence of the server, as a `DURATION` such as 10m; none: no limit (default " + endpoint.IdleTimeoutVariable + ", or that of the model, or 2m)"

// BaseURLUsage is the help of --base-url.
const BaseURLUsage = "the server, up to and without /chat/completions, /responses or /v1/messages (default OPENAI_BASE_URL, or OpenAI; with --api anthropic ANTHROPIC_BASE_URL, or Anthropic)"

// Offer adds the flags to cmd.
func (f *Flags) Offer(c *cli.CLI, cmd *cobra.Command) {
	f.Strategy.Offer(cmd, "strategy", "how to go about the task; segue graph --help lists the names")
	f.Approve.Offer(cmd, "approve", "`WHICH` tool calls need your approval: "+cli.Listed(approve.Words))
	flags := cmd.Flags()
	flags.StringVarP(&f.Model, "model", "m", "", "the model (default SEGUE_MODEL, or "+endpoint.DefaultModel+")")
	flags.StringVar(&f.BaseURL, "base-url", "", BaseURLUsage)
	f.API.OfferAPI(cmd, "")
	cli.OfferPolicy(cmd, &f.Policy, "", "let the model write its tool calls as text in this format (default the tool calls of the server)")
	flags.StringVar(&f.Idle, "idle-timeout", "", IdleUsage)
	flags.StringVarP(&f.System, "system", "s", "", "the system prompt")
	flags.StringVar(&f.Dir, "dir", "", "let the model list, read, write and search the files in this folder, and no others")
	flags.StringArrayVar(&f.Protect, "protect", nil, "have each change and each reading of the files that fit `GLOB` asked about; may be said again")
	flags.StringVar(&f.Config, "config", "", "the configuration; '' is none (default "+cli.Lookup+")")
	flags.StringVar(&f.Agent, "agent", "", "the agent of the configuration that does it (default by its rules)")
	flags.StringVar(&f.Source, "source", "", "where the task comes from, for the rules of the configuration")
	flags.BoolVar(&f.NoAsk, "no-ask", false, "do not let the model ask you questions")
	flags.BoolVar(&f.Ask, "ask", false, "let the model ask even where nobody can be asked: then the run waits for segue answer")
	cmd.MarkFlagsMutuallyExclusive("ask", "no-ask")
	flags.IntVar(&f.MaxSteps, "max-steps", 0, "most steps: model calls, batches of tool calls, and steps of plans that are handed on; negative: no bound (default 50 model calls for a task or a step of a plan)")
	f.Store.Offer(cmd)
	f.Out.Flags(cmd)
	f.Given = flags.Changed
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("agent", c.CompleteAgentFlag(&f.Config))
	_ = cmd.RegisterFlagCompletionFunc("model", c.CompleteModels(&f.Config))
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// Check returns an error for a flag whose value says nothing.
func (f *Flags) Check() error {
	if f.Given("max-steps") && f.MaxSteps == 0 {
		return errors.New(f.Settings.SaidBy("max-steps") + " 0 lets the run do nothing: give a number from 1 on, or -1 for no bound")
	}
	if f.Given("dir") && f.Dir == "" {
		return errors.New("--dir names no folder: give its path, such as . for this one, or leave --dir out for a run without files")
	}
	for flag, value := range map[string]string{"model": f.Model, "base-url": f.BaseURL, "agent": f.Agent, "policy": f.Policy} {
		if value == "" && f.Given(flag) {
			return fmt.Errorf("--%s is empty: give its value, or leave --%s out", flag, flag)
		}
	}
	return nil
}

// OfferFiles adds the flag --file to cmd.
func (f *Flags) OfferFiles(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVarP(&f.Files, "file", "f", nil, usage)
	_ = cmd.MarkFlagFilename("file") // the only error is an unknown flag
}

// NeedConfiguration returns an error if a setting needs a configuration, and there is none.
func (f *Flags) NeedConfiguration() error {
	for _, flag := range []string{"agent", "source", "profile"} {
		if f.Given(flag) {
			return errors.New(f.Settings.SaidBy(flag) + " needs a configuration: --config FILE, SEGUE_CONFIG, or " + locate.FileName)
		}
	}
	return nil
}

// OfferReading adds the flags of commands that read a run with the strategies that it was begun
// with.
func (f *Flags) OfferReading(cmd *cobra.Command, c *cli.CLI) {
	f.Strategy, f.Approve, f.Reads = cli.OneOf(strategies.Words()...), cli.OneOf(approve.Words...), true
	cmd.Flags().StringVar(&f.Config, "config", "", "the configuration (default that of the run)")
	f.Store.Offer(cmd)
	f.Given = cmd.Flags().Changed
	cmd.ValidArgsFunction = c.CompleteRuns(&f.Store)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
}
