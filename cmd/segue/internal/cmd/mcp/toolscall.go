package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/approval"
	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// toolsCallFlags are the flags of segue tools call.
type toolsCallFlags struct {
	toolsFlags
	server  string
	approve cli.Choice
}

// callRecord is a call in the form json. Elapsed is in nanoseconds.
type callRecord struct {
	Tool        string                `json:"tool"`
	Server      string                `json:"server"`
	Status      messages.Status       `json:"status"`
	Reason      string                `json:"reason,omitempty"`
	Output      string                `json:"output"`
	Untrusted   bool                  `json:"untrusted"`
	Elapsed     time.Duration         `json:"elapsed"`
	Images      []string              `json:"images,omitempty"` // URLs of the pictures that the model is shown
	Attachments []messages.Attachment `json:"attachments,omitempty"`
}

func toolsCallCommand(c *cli.CLI) *cobra.Command {
	f := &toolsCallFlags{approve: cli.OneOf(approve.Ask, approve.Always)}
	f.form = cli.OneOf(cli.FormText, cli.FormJSON)
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool of an MCP server, and show what it returns",
		Long: `Call calls a tool of an MCP server of the configuration, by a name that segue tools lists, with arguments that are a JSON object.
The result goes to standard output as a model would read it, and how long it took to standard error. No model is asked.

You are asked before the call, unless the tool only reads and is accepted. Without a terminal --approve always makes it, if the tool
is accepted and not one that always asks. The exit code is 1 if the call fails.`,
		Example: `  segue tools call files_list_directory '{"path":"."}'
  segue tools call create_issue '{"title":"A test"}' --server issues`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("call takes the NAME of one tool, and perhaps its arguments as JSON, in quotes; see segue tools call --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return callTool(cmd.Context(), c, f, args[0], cmp.Or(strings.Join(args[1:], ""), "{}"))
		},
	}
	f.offer(cmd)
	cmd.Flags().StringVar(&f.server, "server", "", "the `NAME` of the server that has the tool (default all are asked)")
	f.approve.Offer(cmd, "approve", "ask, or make the call without asking")
	f.form.Offer(cmd, "output", "the result, or a JSON object with it")
	_ = cmd.RegisterFlagCompletionFunc("server", completeServers(c, &f.config)) // the only error is an unknown flag
	cmd.ValidArgsFunction = completeAccepted(c, &f.config)
	return cmd
}

// callTool executes segue tools call.
func callTool(ctx context.Context, c *cli.CLI, f *toolsCallFlags, name, arguments string) error {
	var object map[string]any
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		return errors.New(`the arguments are no JSON object, such as '{"path":"a.txt"}'`)
	}
	s := c.Screen(cli.Output{})
	cfg, err := toolsConfig(ctx, c, &f.toolsFlags, s)
	if err != nil {
		return err
	}
	server, tool, err := findTool(ctx, c, cfg, f.server, name)
	if f.verbose {
		defer func() { s.Show(c.MCP.Said()...) }()
	}
	if err != nil {
		return err
	}
	if err := mayCall(ctx, c, f, server, tool.Definition(), arguments, s); err != nil {
		return err
	}
	ctx, release := cli.UntilSignal(ctx)
	defer release()
	out := toolrun.Runner{}.Run(ctx, toolrun.Job{
		Call: messages.ToolCall{ID: "call", Name: name, Arguments: arguments}, Tool: tool, Ask: askForTool(c, s),
		Progress: func(text string) { s.ShowProgress(plaintext.Visible(plaintext.OneLine(text))) },
	})
	if ctx.Err() != nil {
		return cli.EndedBySignal(ctx)
	}
	return showCall(c, f, server, &out, s)
}

// showCall writes the result of a call.
func showCall(c *cli.CLI, f *toolsCallFlags, server *cli.MCPServer, out *messages.ToolOutput, s *terminal.Screen) error {
	r := callRecord{
		Tool: out.ToolName, Server: server.Name, Status: cmp.Or(out.Status, messages.StatusOK), Reason: out.Reason, Output: out.Output,
		Untrusted: out.Untrusted, Elapsed: out.Elapsed, Attachments: out.Attachments,
	}
	for _, image := range out.Images {
		r.Images = append(r.Images, image.URL)
	}
	var err error
	if f.form.Value == cli.FormJSON {
		err = cli.Encode(c.Stdout, r)
	} else {
		err = (&run.Printer{W: c.Stdout}).Text(out.Output)
	}
	if n := len(out.Images); n > 0 {
		s.ShowProgress("it shows the model " + plaintext.Counted(n, "picture"))
	}
	for _, a := range out.Attachments {
		s.ShowProgress(plaintext.Visible(plaintext.OneLine(fmt.Sprintf("it made %s (%s)", a.Name, a.MediaType))))
	}
	s.ShowProgress(fmt.Sprintf("%s of the MCP server %s took %s", r.Tool, plaintext.Visible(server.Name), out.Elapsed.Round(time.Millisecond)))
	if err == nil && !out.OK() {
		return cli.Failed(fmt.Errorf("the call of %s failed: %s", r.Tool, cmp.Or(r.Reason, string(r.Status))))
	}
	return err
}

// findTool connects to the servers of a configuration, and returns the tool with that name.
func findTool(ctx context.Context, c *cli.CLI, cfg *config.Config, server, name string) (*cli.MCPServer, tools.Tool, error) {
	names := slices.Sorted(maps.Keys(cfg.MCP))
	switch _, ok := cfg.MCP[server]; {
	case server != "" && !ok:
		return nil, nil, noServer(cfg, server)
	case server != "":
		names = []string{server}
	case len(names) == 0:
		return nil, nil, errors.New("the configuration has no MCP server, or there is none; see segue tools --help")
	}
	servers, errs := c.ConnectMCP(ctx, cfg, names)
	var found, others []*cli.MCPServer // that have a tool of the name, and that call one so themselves
	var tool, other tools.Tool
	var known []string
	for _, s := range servers {
		if s == nil {
			continue
		}
		for _, t := range s.Set.Tools() {
			ours := t.Definition().Name
			known = append(known, ours)
			switch name {
			case ours:
				found, tool = append(found, s), t
			case s.NameOf(ours):
				others, other = append(others, s), t
			}
		}
	}
	if len(found) == 0 {
		found, tool = others, other
	}
	switch err := cli.FirstOf(errs); {
	case len(found) == 1:
		return found[0], tool, nil
	case len(found) > 1:
		return nil, nil, fmt.Errorf("%s and %s both have a tool %s: say which with --server", found[0].Name, found[1].Name, name)
	case err != nil:
		return nil, nil, err
	default:
		return nil, nil, fmt.Errorf("no tool %q of an MCP server%s; segue tools lists them", name, similar.Hint(name, known))
	}
}

// mayCall returns an error unless a call may be made. It asks at a terminal.
func mayCall(ctx context.Context, c *cli.CLI, f *toolsCallFlags, server *cli.MCPServer, def tools.Definition, arguments string, s *terminal.Screen) error {
	if !def.NeedsApproval && (def.ReadOnly || f.approve.Value == approve.Always) {
		return nil
	}
	if !c.Interactive {
		why, how := "", "call it in a terminal, or with --approve always"
		if def.ApprovalNote != "" {
			why = " (" + plaintext.Visible(def.ApprovalNote) + ")"
		}
		switch {
		case def.ApprovalNote != "":
			how = "call it in a terminal, or accept it first with: segue tools --accept " + cli.Quoted(server.Name)
		case def.NeedsApproval:
			how = "call it in a terminal: it always asks, unless the configuration says otherwise in safety of the server: " + server.NameOf(def.Name) + ": {needs_approval: false}"
		}
		return &cli.ExitError{Code: cli.ExitWaiting, Err: fmt.Errorf("the call of %s needs an approval%s, and nobody can be asked here; %s", def.Name, why, how)}
	}
	shown := run.MCPTools{Tools: map[string][]tools.Tool{}, About: map[string][]terminal.Line{}}
	shown.Add(server)
	lines := []terminal.Line{terminal.Bold.Line(plaintext.Visible(def.Name) + " needs your approval")}
	lines = append(lines, shown.About[def.Name]...)
	lines = append(lines, terminal.DescribeArguments(arguments)...)
	yes, err := c.Confirm(ctx, s, "call it? y yes, n no > ", lines)
	if err == nil && !yes {
		err = cli.Failed(errors.New("the call was not made"))
	}
	return err
}

// askForTool returns what asks the user the question of a tool; nil if nobody can be asked.
func askForTool(c *cli.CLI, s *terminal.Screen) tools.AskFunc {
	if !c.Interactive {
		return nil
	}
	keys := terminal.NewKeyboard(c.Keyboard())
	return func(ctx context.Context, a tools.Asked) (string, error) {
		lines := terminal.Block("  ", a.Text)
		for i, option := range a.Options {
			lines = append(lines, terminal.Plain.Line(fmt.Sprintf("  %d %s", i+1, plaintext.Visible(plaintext.OneLine(option)))))
		}
		for {
			keys.DiscardTyped()
			s.Prompt("your answer > ", lines...)
			line, err := keys.ReadLine(ctx)
			s.EndPrompt(err == nil)
			if err != nil {
				return "", tools.ErrNobody
			}
			answer, problem := approval.Choose(strings.TrimSpace(plaintext.Printable(strings.ToValidUTF8(line, ""))), a.Options)
			if problem == "" {
				return answer, nil
			}
			lines = []terminal.Line{terminal.Warn.Line(problem)}
		}
	}
}

// completeAccepted completes the names of tools that are accepted: no server is started for that.
func completeAccepted(c *cli.CLI, path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		cfg := c.CompletedConfig(cmd, *path)
		for _, name := range slices.Sorted(maps.Keys(cfg.MCP)) {
			s := &cli.MCPServer{Name: name, Target: cfg.MCPTarget(name)}
			if len(args) > 0 || s.ReadAccepted(c) != nil {
				continue
			}
			for _, tool := range slices.Sorted(maps.Keys(s.Accepted)) {
				full := cfg.MCP[name].Prefix + tool
				if strings.HasPrefix(full, begin) {
					all = append(all, cobra.CompletionWithDesc(full, "of the MCP server "+name))
				}
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
