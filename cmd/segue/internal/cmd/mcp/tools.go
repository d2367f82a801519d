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
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/tools"
)

// toolsFlags are the flags of segue tools and segue tools call.
type toolsFlags struct {
	config  string
	form    cli.Choice
	accept  bool
	verbose bool
	given   func(flag string) bool
}

// toolsRecord is what segue tools lists, in the form json.
type toolsRecord struct {
	Tools   []toolRecord      `json:"tools"` // of segue itself
	Servers []toolsFromServer `json:"servers"`
}

// toolsFromServer is an MCP server with its tools.
type toolsFromServer struct {
	Name     string        `json:"name"`
	Target   string        `json:"target"` // its command or its address
	Title    string        `json:"title,omitempty"`
	Protocol string        `json:"protocol,omitempty"`
	Error    string        `json:"error,omitempty"`   // why it cannot be used
	Elapsed  time.Duration `json:"elapsed"`           // to connect and list the tools, in nanoseconds
	More     bool          `json:"more,omitempty"`    // its list goes on, and was not read to its end
	Unknown  []string      `json:"unknown,omitempty"` // tools that the configuration names, and that it does not have
	Tools    []toolRecord  `json:"tools"`

	err    error
	server *cli.MCPServer
}

// toolRecord is a tool.
type toolRecord struct {
	Name        string          `json:"name"`
	ServerName  string          `json:"server_name,omitempty"` // what the MCP server calls it
	Safety      string          `json:"safety,omitempty"`
	Asks        string          `json:"asks,omitempty"`  // why it asks, besides what its state says
	State       string          `json:"state,omitempty"` // of an MCP tool: accepted, new or changed
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Fingerprint string          `json:"fingerprint,omitempty"`
	LeftOut     string          `json:"left_out,omitempty"`  // why no run gets it
	Unchecked   []string        `json:"unchecked,omitempty"` // patterns for its arguments that only the server checks

	change []terminal.Line
}

func toolsCommand(c *cli.CLI) *cobra.Command {
	f := &toolsFlags{form: cli.OneOf(cli.FormText, cli.FormJSON)}
	cmd := &cobra.Command{
		Use:   "tools [SERVER]...",
		Short: "List the tools, and those of MCP servers; accept and try them",
		Long: `Tools lists the tools that a run can have: those of segue itself, and those of the MCP servers of the configuration, or of the
SERVERs that are named. Each server is started, or asked, and ended. One that cannot be reached, or does not answer within its
connect_timeout, is shown with the reason; the exit code is then 5.

What a tool does:
  reads     it changes nothing: you are not asked
  changes   you are asked, unless the approval of the agent says otherwise
  asks      you are asked about each call, whatever the approval says: because the tool is new or changed, the server calls it
            destructive, or the configuration says needs_approval

What a server says of a tool stays a stranger's text. You accept it once, at the first run at a terminal or with --accept. If the
server changes it later, the tool is shown as changed, with what was added and removed, and each call needs your approval until you
accept it again. A tool that is new needs that, too.

What is accepted is kept in ~/.local/state/segue/mcp.json (XDG_STATE_HOME says another folder than ~/.local/state).`,
		Example: `  segue tools
  segue tools --accept files
  segue tools issues --output json
  segue tools call files_read_text_file '{"path":"notes.md"}'`,
		RunE: func(cmd *cobra.Command, args []string) error { return listTools(cmd.Context(), c, f, args) },
	}
	f.offer(cmd)
	cmd.Flags().BoolVar(&f.accept, "accept", false, "accept all tools of the SERVERs as they are now")
	f.form.Offer(cmd, "output", "a text to read, or a JSON object")
	cmd.ValidArgsFunction = completeServers(c, &f.config)
	cmd.AddCommand(toolsCallCommand(c))
	return cmd
}

// offer adds the flags that both commands have to cmd.
func (f *toolsFlags) offer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "the configuration; '' is none (default "+cli.Lookup+")")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show what the servers write to their standard errors, too")
	f.given = cmd.Flags().Changed
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the only error is an unknown flag
}

// toolsConfig reads the configuration of segue tools, which must be trusted, because its servers
// are started; an empty one if there is none.
func toolsConfig(ctx context.Context, c *cli.CLI, f *toolsFlags, s *terminal.Screen) (*config.Config, error) {
	place, err := c.ConfigPath(f.config, f.given("config"))
	if err != nil || place.Origin == locate.None {
		return &config.Config{}, err
	}
	cfg, err := place.Read()
	if err != nil {
		return nil, err
	}
	if cfg.Found && len(cfg.MCP) > 0 {
		err = c.MustTrust(ctx, cfg, s)
	}
	return cfg, err
}

// listTools executes segue tools.
func listTools(ctx context.Context, c *cli.CLI, f *toolsFlags, names []string) error {
	s := c.Screen(cli.Output{})
	cfg, err := toolsConfig(ctx, c, f, s)
	if err != nil {
		return err
	}
	if f.accept && len(names) == 0 {
		return errors.New("--accept needs the name of a SERVER; segue tools lists them")
	}
	for _, name := range names {
		if _, ok := cfg.MCP[name]; !ok {
			return noServer(cfg, name)
		}
	}
	r := toolsRecord{Tools: []toolRecord{}, Servers: []toolsFromServer{}}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(cfg.MCP))
		r.Tools = nativeTools()
	}
	servers, errs := c.ConnectMCP(ctx, cfg, names)
	for i, name := range names {
		if errs[i] == nil && f.accept {
			servers[i], errs[i] = c.AcceptAll(ctx, cfg, servers[i], servers[i].Set.Listing().Offers)
		}
		r.Servers = append(r.Servers, toolsOfServer(cfg, name, servers[i], errs[i]))
	}
	if f.verbose {
		s.Show(c.MCP.Said()...)
	}
	return cmp.Or(c.Print(f.form.Value, r, r.text()), unreachable(errs, names))
}

// unreachable returns the error of the servers that could not be used, which have been shown.
func unreachable(errs []error, names []string) error {
	var bad []string
	code := 0
	for i, err := range errs {
		if err != nil {
			bad, code = append(bad, names[i]), max(code, cli.ExitCode(err))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &cli.ExitError{Code: code, Err: fmt.Errorf("cannot use the MCP servers: %s", plaintext.Visible(strings.Join(bad, ", ")))}
}

func noServer(cfg *config.Config, name string) error {
	known := strings.Join(slices.Sorted(maps.Keys(cfg.MCP)), ", ")
	return fmt.Errorf("no MCP server %q in the configuration; there are: %s", name, cmp.Or(known, "none"))
}

// nativeTools returns the tools of segue itself.
func nativeTools() []toolRecord {
	all := []toolRecord{}
	for _, t := range append(workfolder.Described(), tools.AskUser()) {
		all = append(all, newToolRecord(t.Definition()))
	}
	return all
}

func newToolRecord(def tools.Definition) toolRecord {
	r := toolRecord{Name: def.Name, Safety: "changes", Description: def.Description, Parameters: def.Parameters}
	switch {
	case def.NeedsApproval:
		r.Safety = "asks"
	case def.ReadOnly:
		r.Safety = "reads"
	}
	return r
}

// toolsOfServer returns an MCP server with its tools.
func toolsOfServer(cfg *config.Config, name string, s *cli.MCPServer, err error) toolsFromServer {
	r := toolsFromServer{Name: name, Target: cfg.MCPTarget(name), Tools: []toolRecord{}, server: s, err: err}
	if err != nil {
		r.Error = plainwords.Line(err)
		if e, ok := errors.AsType[*cli.ServerError](err); ok {
			r.Error = plainwords.Line(e.Err) // it is being tried
		}
		return r
	}
	l := s.Set.Listing()
	r.Title, r.Protocol, r.Elapsed, r.More = l.Title, l.Protocol, s.Took, l.More
	r.Unknown = l.Unknown
	for _, o := range l.Offers {
		t := newToolRecord(o.Definition)
		t.Name, t.ServerName, t.Fingerprint, t.LeftOut, t.Unchecked = o.ToolName, o.Name, o.Fingerprint, o.LeftOut, o.Unchecked
		if o.LeftOut != "" {
			t.Name, t.Safety = cmp.Or(o.ToolName, o.Name), ""
		} else if t.State = s.StateOf(&o); t.State == cli.ToolChanged {
			t.change = s.ChangeOf(&o)
		}
		switch given, said := cfg.MCP[name].Safety[o.Name]; {
		case t.Safety != "asks":
		case given.NeedsApproval:
			t.Asks = "needs_approval"
		case !said && o.Hints.Destructive != nil && *o.Hints.Destructive:
			t.Asks = "destructive"
		}
		for _, pattern := range o.Unchecked {
			t.change = append(t.change, terminal.Plain.Line("    only the server checks the pattern "+plaintext.Visible(plaintext.OneLine(pattern))))
		}
		r.Tools = append(r.Tools, t)
	}
	return r
}

// text returns the tools for people.
func (r *toolsRecord) text() string {
	var b strings.Builder
	if len(r.Tools) > 0 {
		b.WriteString("segue itself:\n" + toolTable(r.Tools))
	}
	for i, s := range r.Servers {
		if i > 0 || len(r.Tools) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "MCP server %s: %s\n", s.Name, plaintext.Visible(s.Target))
		if s.Error != "" {
			fmt.Fprintf(&b, "  cannot be used: %s\n", plaintext.OneLine(s.Error))
			continue
		}
		fmt.Fprintf(&b, "  %s, MCP %s, after %s\n", cmp.Or(plaintext.OneLine(s.Title), "it says no name"), plaintext.OneLine(s.Protocol), s.Elapsed.Round(time.Millisecond))
		b.WriteString(toolTable(s.Tools))
		if s.More {
			b.WriteString("  and more, which were not read\n")
		}
		if len(s.Unknown) > 0 {
			fmt.Fprintf(&b, "  %s\n", plaintext.Visible(cli.NoSuchTools(s.Unknown)))
		}
		if new, changed := s.count(cli.ToolNew), s.count(cli.ToolChanged); new+changed > 0 {
			fmt.Fprintf(&b, "  %d new, %d changed: each call of these needs your approval; accept them with: segue tools --accept %s\n", new, changed, cli.Quoted(s.Name))
		}
	}
	return b.String()
}

// count returns how many tools are in a state.
func (s *toolsFromServer) count(state string) int {
	n := 0
	for _, t := range s.Tools {
		if t.State == state {
			n++
		}
	}
	return n
}

// toolTable returns tools, a line for each; below one that has changed what is new in it.
func toolTable(list []toolRecord) string {
	const most = 60 // columns of a description
	var rows []string
	for _, t := range list {
		about := plaintext.Visible(plaintext.Head(plaintext.OneLine(t.Description), most))
		name, safety, state := t.Name, t.Safety, cmp.Or(t.State, "-")
		if t.ServerName != "" && t.ServerName != name {
			name += " (" + t.ServerName + ")"
		}
		if t.Asks != "" {
			safety += ": " + t.Asks
		}
		if t.LeftOut != "" {
			safety, about = "left out", plaintext.Visible(plaintext.OneLine(t.LeftOut))
		}
		rows = append(rows, "  "+plaintext.Visible(name)+"\t"+safety+"\t"+state+"\t"+about)
	}
	text, i := "", 0
	for line := range strings.Lines(cli.Table(rows)) {
		text += line
		for _, change := range list[i].change {
			text += "  " + change.Text + "\n"
		}
		i++
	}
	return text
}

// completeServers completes the names of the MCP servers of a configuration.
func completeServers(c *cli.CLI, path *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		cfg := c.CompletedConfig(cmd, *path)
		for _, name := range slices.Sorted(maps.Keys(cfg.MCP)) {
			if strings.HasPrefix(name, begin) && !slices.Contains(args, name) {
				all = append(all, cobra.CompletionWithDesc(name, plaintext.Head(plaintext.OneLine(cfg.MCPTarget(name)), 50)))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
