// Package mcp is about the Model Context Protocol: segue tools and mcp serve.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
)

// Commands returns the commands of this package.
func Commands(c *cli.CLI) []*cobra.Command {
	return []*cobra.Command{mcpCommand(c), toolsCommand(c)}
}

func mcpCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer agents as an MCP server",
		Long: `Mcp is about segue as a server of the Model Context Protocol. The MCP servers that agents use stand in the configuration, under
mcp; segue tools lists and tries them.`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(mcpServeCommand(c))
	return cmd
}

// serveSettings are the flags of segue mcp serve that variables can stand for.
var serveSettings = []string{"config", "profile", "model", "api", "base-url", "policy", "dir", "approve", "protect", "max-steps", "idle-timeout", "store", "quiet", "verbose"}

func mcpServeCommand(c *cli.CLI) *cobra.Command {
	f, agents := run.NewFlags(), []string{}
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Offer agents of the configuration as tools, over stdio",
		Long: `Serve is an MCP server on standard input and output: the program that starts it, such as an editor or another agent, can call each
agent of the configuration as a tool, with a task. Without --agent these are the agents that have a description. With -P the settings
of a profile that are flags here are used, but its agent is not: --agent says what is offered. It ends when its standard input ends.

Each call is a run, and is kept as those of segue run: segue runs lists it, segue show shows it. The result has the answer as text,
and run, status, answer, data and usage as structured content. A run that fails is a failed call, with the id of the run. A call that
is cancelled interrupts its run, and segue resume goes on with it.

What the agents may do is up to their limits and approval, and to --approve, as in segue run. If a call of a tool needs approval, or
an agent asks a question, the client is asked by elicitation; if it does not know that, the call is refused and the agent is told so,
and agents ask no questions. Nothing is approved because nobody could be asked.

Progress goes to the client as it asks for it, and logs to standard error. A segue.yaml that was found must be trusted before: see
segue trust.`,
		Example: `  segue mcp serve --config ~/agents/segue.yaml --agent researcher
  claude mcp add helper -- segue mcp serve --agent helper --dir .`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(cmd.Context(), c, f, agents) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&agents, "agent", nil, "offer the agent with this `NAME`; may be said again (default all that have a description)")
	flags.StringVar(&f.Config, "config", "", "the configuration (default "+cli.Lookup+")")
	flags.StringVarP(&f.Model, "model", "m", "", "the model of the agents that are called (default that of each)")
	flags.StringVar(&f.BaseURL, "base-url", "", "the server of the model (default that of the configuration)")
	f.API.OfferAPI(cmd, "how the server is spoken to: Chat Completions, OpenAI's Responses or Anthropic's Messages (default that of the configuration)")
	cli.OfferPolicy(cmd, &f.Policy, "", "let the model write its tool calls as text in this format")
	flags.StringVar(&f.Idle, "idle-timeout", "", run.IdleUsage)
	flags.StringVar(&f.Dir, "dir", "", "let the agents list, read, write and search the files in this folder, and no others")
	f.Approve.Offer(cmd, "approve", "`WHICH` tool calls need an approval: "+cli.Listed(approve.Words))
	flags.StringArrayVar(&f.Protect, "protect", nil, "have each change and each reading of the files that fit `GLOB` asked about; may be said again")
	flags.IntVar(&f.MaxSteps, "max-steps", 0, "most steps of each run; negative: no bound (default as for segue run)")
	f.Store.Offer(cmd)
	flags.BoolVarP(&f.Out.Quiet, "quiet", "q", false, "no logs but warnings")
	flags.BoolVarP(&f.Out.Verbose, "verbose", "v", false, "log all progress of the runs")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	f.Given = func(flag string) bool { return flag != "agent" && flags.Changed(flag) } // there may be several agents
	f.Settings.Only = serveSettings
	f.Settings.Offer(cmd, c, &f.Config)
	_ = cmd.MarkFlagDirname("dir") // the only error is an unknown flag, here and below
	_ = cmd.RegisterFlagCompletionFunc("agent", c.CompleteAgentFlag(&f.Config))
	_ = cmd.RegisterFlagCompletionFunc("model", c.CompleteModels(&f.Config))
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

// agentServer offers agents as the tools of an MCP server.
type agentServer struct {
	*cli.CLI
	flags  *run.Flags
	place  locate.Place
	cfg    *config.Config
	runs   *cli.RunStore // nil: runs are not kept
	screen *terminal.Screen
	life   context.Context // of the runs

	working sync.WaitGroup
	mu      sync.Mutex
	parked  map[string]*servedRun // runs that wait for the client's next request, by its state
}

// serveMCP executes segue mcp serve.
func serveMCP(ctx context.Context, c *cli.CLI, f *run.Flags, agents []string) error {
	c.Interactive = false // standard input is the client, and nobody watches a terminal
	if err := f.Settings.FromEnvironment(c.Getenv); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	s := &agentServer{CLI: c, flags: f, screen: c.Screen(f.Out), parked: map[string]*servedRun{}}
	var err error
	if s.place, err = c.ConfigPath(f.Config, f.Given("config")); err != nil {
		return err
	}
	if s.cfg, err = run.ConfigOf(ctx, c, f, s.place, s.screen); err != nil {
		return err
	}
	if s.cfg == nil {
		return errors.New("mcp serve needs a configuration: --config FILE, SEGUE_CONFIG, or " + locate.FileName)
	}
	if err := f.Settings.FromProfile(s.cfg); err != nil {
		return err
	}
	if agents, err = s.offered(agents); err != nil {
		return err
	}
	for _, name := range agents {
		if err := s.try(ctx, name); err != nil {
			return err
		}
	}
	if s.runs, err = run.KeepRuns(ctx, c, &f.Store, s.cfg, s.screen); err != nil {
		return err
	}
	defer s.runs.Release()
	return s.serve(ctx, agents)
}

// offered returns the agents to offer: those that are named, or all that have a description.
func (s *agentServer) offered(named []string) ([]string, error) {
	for _, name := range named {
		if _, _, err := s.cfg.Choose(config.Request{Agent: name}); err != nil {
			return nil, err
		}
	}
	if len(named) > 0 {
		slices.Sort(named)
		return slices.Compact(named), nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Agents)) {
		if s.cfg.Agents[name].Description != "" {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return nil, errors.New("no agent of the configuration has a description: give one to the agents to offer, or name them with --agent")
	}
	return named, nil
}

// try makes the job of an agent, so that one that can make no run, such as one that needs --dir, is
// refused before a client calls it. It asks no model and no MCP server.
func (s *agentServer) try(ctx context.Context, agent string) error {
	f := *s.flags
	f.Agent, f.Reads, f.Mute, f.Unconnected = agent, true, true, true
	j, err := run.JobOf(ctx, s.CLI, &f, s.cfg, s.screen)
	if err == nil {
		j.Close()
	}
	return err
}

// serve serves until the input ends, or a signal comes. The runs that are in progress then are
// interrupted.
func (s *agentServer) serve(parent context.Context, agents []string) error {
	ctx, _, release := cli.Interrupts(parent, s.runs != nil, func() {}, func() {})
	defer release()
	life, end := context.WithCancelCause(ctx)
	s.life = life
	log := slog.New(slog.DiscardHandler)
	if s.flags.Out.Verbose {
		log = slog.New(slog.NewTextHandler(logLines{s.screen}, nil))
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "segue", Version: cli.ProgramVersion()}, &mcp.ServerOptions{
		Logger: log, Capabilities: &mcp.ServerCapabilities{}, Instructions: "Each tool is an agent that works on a task by itself, which may take minutes.",
	})
	for _, name := range agents {
		server.AddTool(&mcp.Tool{
			Name: name, Description: cmp.Or(s.cfg.Agents[name].Description, "The agent "+name+" of segue."),
			InputSchema: json.RawMessage(taskSchema), OutputSchema: json.RawMessage(answerSchema),
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, name, req)
		})
	}
	s.screen.ShowProgress("serving the agents " + plaintext.Visible(strings.Join(agents, ", ")) + " on standard input and output")
	input, done := terminal.Cancellable(s.Stdin)
	stop := sync.OnceFunc(done)
	unblock := context.AfterFunc(ctx, stop)
	err := server.Run(ctx, &mcp.IOTransport{Reader: readCloser{input, stop}, Writer: writeCloser{s.Stdout}})
	unblock()
	stop()
	end(&cli.SignalError{Kept: s.runs != nil})
	s.working.Wait()
	switch {
	case ctx.Err() != nil:
		return cli.EndedBySignal(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		return cli.Failed(fmt.Errorf("the connection with the client broke off: %w", err))
	default:
		return nil
	}
}

// The schemas of the tools that agents are.
const (
	taskSchema = `{"type":"object","properties":{` +
		`"task":{"type":"string","minLength":1,"description":"what the agent is to do, in words, with everything that it must know"},` +
		`"data":{"description":"anything else that belongs to the task, as JSON"}},"required":["task"],"additionalProperties":false}`
	answerSchema = `{"type":"object","properties":{` +
		`"run":{"type":"string","description":"the id of the run, for segue show"},"status":{"type":"string"},` +
		`"answer":{"type":"string"},"data":{"description":"the answer as JSON, if the agent answers so"},` +
		`"usage":{"type":"object"},"error":{"type":"string"}},"required":["run","status","answer"]}`
)

// readCloser and writeCloser are the streams of the process. Closing the input ends its reads;
// neither is closed itself.
type readCloser struct {
	io.Reader
	end func()
}

// Close implements [io.Closer].
func (r readCloser) Close() error {
	r.end()
	return nil
}

type writeCloser struct{ io.Writer }

// Close implements [io.Closer].
func (writeCloser) Close() error { return nil }

// logLines shows lines of a log as progress.
type logLines struct{ screen *terminal.Screen }

// Write implements [io.Writer].
func (l logLines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.screen.ShowProgress(plaintext.Visible(strings.TrimSuffix(line, "\n")))
	}
	return len(p), nil
}
