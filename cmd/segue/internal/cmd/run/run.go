// Package run makes runs: segue run, resume and demo. The other rooms make theirs with it.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/attachment"
	"github.com/segue-go/segue/cmd/segue/internal/autopolicy"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/doctor"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// runHelp and runExamples are the help of segue run.
const (
	runHelp = `Run runs a task with a model of OpenAI, or of any server that speaks Chat Completions. The answer goes to standard
output, progress to standard error.

What comes from standard input, if that is a pipe or a file, is joined to the task, as text between fences: at most 4 MiB of UTF-8.
TASK - is standard input itself. A pipe that nobody writes to is left after five seconds, unless standard error is a terminal or
--stdin wait says to wait; --stdin none does not read it, for scripts that need their own standard input, as in while read.

Strategies:
  complete-task         the model works on the task with the tools until it answers
  plan-revise-execute   the model makes a plan and judges it; each step is worked on by itself, by complete-task or, if the
                        plan says so, planned in turn; when a step fails, the rest of the plan is made anew
  and those that segue graph --help lists

A configuration has models and agents by name, and rules that choose the agent of a task: segue agents lists them, segue
config checks it. With -P the settings of one of its profiles are used. Flags are stronger than SEGUE_* variables, those than the
profile, and that than the rest of the file: segue config show --origin says what is used, and why. A configuration that nobody named, but that is in the working folder or above, is used once
you trust it; see segue trust.

At a terminal you are asked to approve each tool call that changes something, and the model can ask you questions, also if
standard input is a pipe or a file. Anywhere else the model cannot ask questions, unless --ask lets it, and a run that needs you
ends with exit code 4, and says what it waits for. Standard input from /dev/null says that nobody is there. Approve:
  ask         you are asked about each call that changes something, such as writing a file
  always      all calls are made
  never       calls that change something are refused, and the model is told so
  untrusted   you are asked about them once the run has read text from outside, such as a file
Whatever it says, you are asked each time before a file is changed that can run code, such as .git/config or a Makefile, or
one is read or changed that can hold secrets, such as .env; --protect names more of them. Never refuses both.

While the run is at work at a terminal, Tab begins a note: a line that the model is given with its next request, such as "Leave the
tests alone". Enter gives it to the run, Esc leaves it. From another terminal, segue note does the same.

A model, or server, that has no tool calls of its own can write them as text: --policy says in which format; see segue
policies. With --policy auto the first run with a server and model tries them, and remembers the best.

With --session the run is a turn of a conversation: the model is told what was said in the turns before, and the agent that
answered last goes on, unless --agent names one. The flags are not kept from turn to turn. segue sessions lists the conversations.

Each step is kept, so that a run that waits for you, was interrupted or broke off goes on with segue resume: nothing that is
done is done again. Ctrl-C interrupts it, whatever it is doing, and says how it goes on; a second one ends the process. SIGTERM and
the end of the terminal interrupt it, too. What there is then of an answer goes to standard output all the same, as it does when a
reply breaks off. With --store none nothing is kept: then Ctrl-C ends the run.`
	runExamples = `  segue run "What is a segue?"
  segue run --dir notes "Write action-items.md: who does what until when"
  segue run --strategy plan-revise-execute --dir src \
    "Write OVERVIEW.md: what each package is for"
  segue run --dir notes --approve always \
    "Sort the items in action-items.md by date"
  segue run -f notes.md -f chart.png "What is missing in the notes?"
  git diff | segue run "Review this change"
  segue run --base-url http://localhost:11434/v1 -m qwen3 "Say hello"
  segue run --api anthropic -m claude-sonnet-5 "Say hello"
  segue run --agent planner --source voice "Plan the week"
  segue run -P review "What is wrong in a.go?"
  segue run --session trip "And how long does the train take?"
  segue run --base-url http://localhost:8080/v1 --policy fenced --dir notes \
    "What is open?"`
)

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{runCommand(c), demoCommand(c), resumeCommand(c)}
}

func runCommand(c *cli.CLI) *cobra.Command {
	f := NewFlags()
	cmd := &cobra.Command{
		Use:     "run [flags] TASK|-",
		Short:   "Run a task with a model",
		Long:    runHelp,
		Example: runExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New(`run takes one TASK, in quotes, or - for standard input; see segue run --help`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runTask(cmd.Context(), c, f, args[0]) },
	}
	f.Offer(c, cmd)
	f.Settings.Offer(cmd, c, &f.Config)
	f.OfferFiles(cmd, "give the model this `FILE` with the task, a text, a picture, a PDF or a recording; may be said again")
	f.OfferTurn(c, cmd)
	return cmd
}

// runTask executes segue run.
func runTask(ctx context.Context, c *cli.CLI, f *Flags, arg string) error {
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	f.NoAsk = f.NoAsk || !f.Ask && !c.Interactive // a question that nobody hears would end the run
	s := c.Screen(f.Out)
	task, err := ReadTask(c, arg, f.Stdin.Value, s)
	if err != nil {
		return err
	}
	attached, err := attachment.ReadAll(f.Files)
	if err != nil {
		return err
	}
	f.fed = task.Joined != ""
	place, err := c.ConfigPath(f.Config, f.Given("config"))
	if err != nil {
		return err
	}
	cfg, err := ConfigOf(ctx, c, f, place, s)
	if err != nil {
		return err
	}
	so, runs, err := f.begin(ctx, c, cfg, task.said, s)
	defer func() { runs.Release() }()
	if err != nil {
		return err
	}
	j, err := JobOf(ctx, c, f, cfg, s)
	if err != nil {
		return err
	}
	defer j.CloseFiles()
	if !f.Given("session") {
		if runs, err = KeepRuns(ctx, c, &f.Store, cfg, s); err != nil {
			return err
		}
	}
	j.Runs, j.Task.Session = runs, f.Session
	j.Task.Input = delegation.Input{Goal: attachment.WithTexts(task.Goal(), attached), Messages: attachment.Parts(attached)}
	if j.Task.Input.Messages != nil || f.Agent != "" || answered(&so, cfg) != "" { // or else the orchestrator tells it
		j.Task.Input.Messages = slices.Concat(ToldTo(f.Agent, &so, cfg), j.Task.Input.Messages)
	}
	if err := NoteBegun(c, &j, f, cfg, place); err != nil {
		return err
	}
	err = Perform(ctx, c, j, f.Out, s)
	if journal, ok := errors.AsType[*orchestrator.JournalError](err); ok && doesWithout(j.Runs, err) {
		s.Warn(notKept + plainwords.Line(journal.Err))
		unkept := j
		unkept.Runs = nil
		return Perform(ctx, c, unkept, f.Out, s)
	}
	return err
}

// begin takes what the profile says, and chooses the agent of a task. Of a turn it returns the
// conversation so far, and the store, which must be released also if there is an error.
func (f *Flags) begin(ctx context.Context, c *cli.CLI, cfg *config.Config, goal string, s *terminal.Screen) (so orchestrator.Conversation, runs *cli.RunStore, err error) {
	if cfg != nil {
		if err = f.Settings.FromProfile(cfg); err != nil {
			return so, nil, err
		}
	}
	if f.Given("session") {
		if runs, err = KeepRuns(ctx, c, &f.Store, cfg, s); err != nil {
			return so, nil, err
		}
		if _, err = cli.SessionName(f.Session, runs); err == nil {
			so, err = SoFar(ctx, c, runs, f.Session, s)
		}
	}
	if err == nil && cfg != nil {
		err = f.ChooseAgent(cfg, goal, &so, s)
	}
	return so, runs, err
}

// ChooseAgent chooses the agent of a task: the one that is named, or that has answered last in the
// conversation, or by the rules of the configuration.
func (f *Flags) ChooseAgent(cfg *config.Config, goal string, so *orchestrator.Conversation, s *terminal.Screen) error {
	name, why := answered(so, cfg), "that of the turn before"
	if _, there := cfg.Agents[name]; f.Agent != "" || !there {
		var err error
		if name, why, err = cfg.Choose(config.Request{Agent: f.Agent, Source: f.Source, Goal: goal}); err != nil {
			return err
		}
	}
	if f.Agent != "" {
		why = f.Settings.SaidBy("agent")
	}
	f.Agent = name
	s.ShowProgress("agent " + name + " (" + why + ")")
	return nil
}

// NoteBegun has a run that is kept hold what it is begun with, for segue resume.
func NoteBegun(c *cli.CLI, j *Job, f *Flags, cfg *config.Config, place locate.Place) error {
	if j.Runs == nil {
		return nil
	}
	b, err := BegunWith(c, f, cfg, place)
	if err == nil {
		b.MCP = j.MCP.Names()
		j.Task.Metadata, err = b.Metadata()
	}
	if err != nil {
		return err
	}
	j.Task.Labels = b.Labels()
	return nil
}

// JobOf makes the job of a run, without its task's input. It must be closed.
func JobOf(ctx context.Context, c *cli.CLI, f *Flags, cfg *config.Config, s *terminal.Screen) (j Job, err error) {
	files, list, err := fileTools(c, f, cfg)
	if err != nil {
		return j, err
	}
	list = append(list, f.Tools...)
	if !f.NoAsk {
		list = append(list, tools.AskUser())
	}
	if cfg == nil {
		j, err = plainJob(ctx, c, f, list, s)
	} else {
		j, err = agentJob(ctx, c, f, cfg, list, s)
	}
	j.Files, j.fed = files, f.fed
	if err != nil {
		j.Close()
		return j, err
	}
	if f.MaxSteps != 0 {
		j.Task.Limits = delegation.Limits{Steps: f.MaxSteps, ModelCalls: -1, ToolCalls: -1}
	}
	return j, nil
}

// fileTools opens the folder of --dir, and returns it with its tools. The folder of a run that is
// only read is not opened: it may be gone.
func fileTools(c *cli.CLI, f *Flags, cfg *config.Config) (*workfolder.Folder, []tools.Tool, error) {
	if f.Reads && f.Dir != "" {
		return nil, workfolder.Described(), nil
	}
	files, err := openFolder(c, f, cfg)
	if files == nil || err != nil {
		return nil, nil, err
	}
	return files, files.Tools(), nil
}

// ConfigOf reads the configuration of a run from its place; nil if there is none. A configuration
// that was found must be trusted.
func ConfigOf(ctx context.Context, c *cli.CLI, f *Flags, place locate.Place, s *terminal.Screen) (*config.Config, error) {
	if place.Origin != locate.None {
		cfg, err := place.Read()
		if err != nil {
			return nil, err
		}
		if hidden := place.Hidden(); hidden != "" && !f.Mute {
			s.ShowProgress(plaintext.Visible(fmt.Sprintf("configuration %s (%s), and not %s", place.Path, place.Origin, hidden)))
		}
		if cfg.Found {
			if err := c.MustTrust(ctx, cfg, s); err != nil {
				return nil, err
			}
		}
		return cfg, cfg.Try()
	}
	return nil, f.NeedConfiguration()
}

// ClientOptions returns the options for the model, from the flags.
func ClientOptions(c *cli.CLI, f *Flags) config.ClientOptions {
	return config.ClientOptions{Getenv: c.Getenv, Model: f.Model, API: f.API.Value, BaseURL: f.BaseURL, Policy: f.Policy, IdleTimeout: f.Idle}
}

// askingOptions returns the options for a run that asks the model: a text format that nobody has
// found out yet is tried.
func askingOptions(ctx context.Context, c *cli.CLI, f *Flags, s *terminal.Screen) config.ClientOptions {
	o := ClientOptions(c, f)
	o.Auto = func(server endpoint.Client, keyVariable string) (string, error) {
		cfg := doctor.Config{Client: server, KeyVariable: keyVariable, Timeout: server.IdleTimeout}
		switch {
		case cfg.Timeout == 0:
			cfg.Timeout = 2 * time.Minute // as a run waits
		case cfg.Timeout < 0:
			cfg.Timeout = time.Hour
		}
		policy, err := autopolicy.MemoryOf(c.Getenv).Choose(ctx, cfg, s.ShowProgress)
		if err != nil {
			err = &cli.ExitError{Code: cli.ExitProvider, Err: err}
		}
		return policy, err
	}
	return o
}

// clientOr returns what make makes, or a client that is never asked, for a run that is only read.
func (f *Flags) clientOr(make func() (llmclient.Client, error)) (llmclient.Client, error) {
	switch {
	case f.Client != nil:
		return f.Client, nil
	case f.Reads:
		return scripted.New(), nil
	}
	return make()
}

// plainJob makes the job of a run without a configuration.
func plainJob(ctx context.Context, c *cli.CLI, f *Flags, list []tools.Tool, s *terminal.Screen) (Job, error) {
	client, err := f.clientOr(func() (llmclient.Client, error) { return config.EnvironmentClient(askingOptions(ctx, c, f, s)) })
	if err != nil {
		return Job{}, err
	}
	set, err := strategies.Set(strategies.Settings{System: f.System, Bounded: f.MaxSteps != 0, NoAsk: f.NoAsk})
	word := f.Approve.Value
	if f.Usual != "" && !f.Given("approve") {
		word = f.Usual
	}
	return Job{
		Client: client, Strategies: set, Tools: list,
		Approve: approve.Policies{Default: word}.Judge,
		Task:    orchestrator.Task{Strategy: strategies.RealName(f.Strategy.Value)},
		Models:  []string{cmp.Or(f.Model, endpoint.EnvironmentModel(f.API.Value, c.Getenv))},
	}, err
}

// agentJob makes the job of a run of an agent. Flags override the file.
func agentJob(ctx context.Context, c *cli.CLI, f *Flags, cfg *config.Config, list []tools.Tool, s *terminal.Screen) (Job, error) {
	o := config.Options{Tools: list, System: f.System, Bounded: f.MaxSteps != 0, Approve: f.Usual}
	if f.Given("strategy") {
		o.Strategy = strategies.RealName(f.Strategy.Value)
	}
	if len(f.Tools) > 0 {
		cfg = offering(cfg, f.Agent, f.Tools)
	}
	remote, err := mcpToolsOf(ctx, c, f, cfg, o.Strategy, s)
	if err != nil {
		return Job{}, err
	}
	o.MCP = remote.Tools
	setup, err := cfg.Setup(f.Agent, o)
	if err != nil {
		return Job{}, err
	}
	client, err := f.clientOr(func() (llmclient.Client, error) { return setup.Client(askingOptions(ctx, c, f, s)) })
	if err != nil {
		return Job{}, err
	}
	j := Job{
		Client: client, Strategies: setup.Strategies, Tools: setup.Tools,
		Approve: approve.Policies{Default: f.Approve.Value, Agents: setup.Callable}.Judge,
		Task:    orchestrator.Task{Strategy: f.Agent, Limits: setup.Limits},
		Models:  setup.ModelNames(ClientOptions(c, f)),
		large:   cfg.KeepLarge(),
		MCP:     remote,
	}
	if len(setup.Unmatched) > 0 && !f.Unconnected && !f.Mute {
		s.Warn("the approval of these tools has no effect, because no server offers them: " + plaintext.Visible(strings.Join(setup.Unmatched, ", ")))
	}
	if !f.Given("approve") {
		j.Approve = setup.Approve
		if len(setup.Unheeded) > 0 {
			s.Warn(fmt.Sprintf("%s was found, not named, and so cannot approve calls by itself; you are asked in spite of %s",
				plaintext.Visible(cfg.Path), strings.Join(setup.Unheeded, ", ")))
		}
	}
	return j, nil
}

// offering returns a configuration with an agent that may use tools besides those that it names.
func offering(cfg *config.Config, agent string, more []tools.Tool) *config.Config {
	made, a := *cfg, cfg.Agents[agent]
	if a.Tools == nil {
		return cfg
	}
	a.Tools = slices.Clone(a.Tools)
	for _, t := range more {
		a.Tools = append(a.Tools, t.Definition().Name)
	}
	made.Agents = maps.Clone(cfg.Agents)
	made.Agents[agent] = a
	return &made
}

// openFolder opens the folder of --dir; nil if there is none.
func openFolder(c *cli.CLI, f *Flags, cfg *config.Config) (*workfolder.Folder, error) {
	own, ours := f.Protect, ownPlaces(c)
	if runs, _, err := c.StorePlace(&f.Store, cfg); err == nil {
		ours = append(ours, runs.Files()...)
	}
	if cfg != nil {
		own, ours = slices.Concat(own, cfg.Protected), append(ours, cfg.Path)
	}
	if _, err := workfolder.NewProtectedFiles(f.Protect); err != nil {
		return nil, fmt.Errorf("--protect: %w", err)
	}
	if f.Dir == "" {
		return nil, nil //nolint:nilnil // a run without files has no folder
	}
	return workfolder.Open(f.Dir, own, ours...)
}

// ownPlaces returns the folders of segue's own configuration and state that are not protected by
// name.
func ownPlaces(c *cli.CLI) []string {
	var all []string
	if home, err := os.UserConfigDir(); err == nil {
		all = append(all, filepath.Join(home, "segue"))
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		if home := c.Getenv(name); home != "" {
			all = append(all, filepath.Join(home, "segue"))
		}
	}
	return all
}
