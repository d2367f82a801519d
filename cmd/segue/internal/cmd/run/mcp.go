package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// MCPTools are the tools of MCP servers of a run.
type MCPTools struct {
	Tools map[string][]tools.Tool    // by server
	About map[string][]terminal.Line // what the user is told of a tool before approving a call, by its name

	Unaccepted []string // the servers with a tool that the user has not accepted as it is
}

// Names returns the names of the tools by server, as the run keeps them.
func (m *MCPTools) Names() map[string][]string {
	var all map[string][]string
	for server, list := range m.Tools {
		if all == nil {
			all = map[string][]string{}
		}
		all[server] = []string{}
		for _, t := range list {
			all[server] = append(all[server], t.Definition().Name)
		}
	}
	return all
}

// mcpToolsOf returns the tools of the MCP servers that a run with these flags can reach. A run that
// is kept has the tools that it was begun with, as they were described then; one that is only read
// needs no connection.
func mcpToolsOf(ctx context.Context, c *cli.CLI, f *Flags, cfg *config.Config, strategy string, s *terminal.Screen) (MCPTools, error) {
	made := MCPTools{Tools: map[string][]tools.Tool{}, About: map[string][]terminal.Line{}}
	names := cfg.MCPServers(f.Agent, strategy)
	switch {
	case len(names) == 0:
		return made, nil
	case f.Unconnected:
		for _, name := range names {
			made.Tools[name] = nil
		}
		return made, nil
	case f.begun != nil && f.Reads:
		for _, name := range names {
			made.Tools[name] = f.begun.toolsOf(name, nil)
		}
		return made, nil
	}
	if cfg.Found {
		if err := c.MustTrust(ctx, cfg, s); err != nil {
			return made, err
		}
	}
	servers, errs := c.ConnectMCP(ctx, cfg, names)
	if err := cli.FirstOf(errs); err != nil {
		return made, err
	}
	for i, server := range servers {
		if unknown := server.Set.Listing().Unknown; len(unknown) > 0 && !f.Reads && !f.Mute {
			s.Warn("the MCP server " + plaintext.Visible(server.Name) + ": " + plaintext.Visible(cli.NoSuchTools(unknown)))
		}
		if c.Interactive && !f.Reads && !f.Mute {
			var err error
			if servers[i], err = c.AskAccepted(ctx, cfg, server, s); err != nil {
				return made, err
			}
		}
		made.Add(servers[i])
	}
	if f.begun == nil {
		return made, nil
	}
	for name, list := range made.Tools {
		for _, what := range f.begun.otherwise(name, list) {
			s.Warn(what)
		}
		made.Tools[name] = f.begun.toolsOf(name, list)
	}
	return made, nil
}

// Add adds the tools of a server, and what is to be said of them.
func (m *MCPTools) Add(s *cli.MCPServer) {
	m.Tools[s.Name] = s.Set.Tools()
	for _, o := range s.Set.Listing().Offers {
		if o.LeftOut != "" {
			continue
		}
		lines := []terminal.Line{terminal.Plain.Line("  of the MCP server " + plaintext.Visible(s.Name))}
		switch s.StateOf(&o) {
		case cli.ToolNew:
			lines = append(lines, terminal.Warn.Line("  You have not accepted this tool. It says: "+plaintext.Visible(plaintext.Head(plaintext.OneLine(o.Definition.Description), 300))))
		case cli.ToolChanged:
			lines = append(lines, terminal.Warn.Line("  The server has changed this tool since you accepted it:"))
			lines = append(lines, s.ChangeOf(&o)...)
		}
		m.About[o.ToolName] = lines
		if len(lines) > 1 && !slices.Contains(m.Unaccepted, s.Name) {
			m.Unaccepted = append(m.Unaccepted, s.Name)
		}
	}
}

// toolsOf returns the tools of an MCP server that a run was begun with. Of those that the server
// does not offer now, or is not connected for, only the definition is left. A server that the run
// did not have then has the tools that it has now.
func (b *Begun) toolsOf(server string, now []tools.Tool) []tools.Tool {
	names, had := b.MCP[server]
	if !had {
		return now
	}
	var all []tools.Tool
	for _, name := range names {
		i := slices.IndexFunc(now, func(t tools.Tool) bool { return t.Definition().Name == name })
		if i >= 0 {
			all = append(all, now[i])
			continue
		}
		all = append(all, b.described(name, fmt.Sprintf("the MCP server %s does not offer %s any more", server, name)))
	}
	return all
}

// described returns a tool of which only the definition is left: a call fails.
func (b *Begun) described(name, why string) tools.Tool {
	def := tools.Definition{Name: name}
	if k := slices.IndexFunc(b.defs, func(d tools.Definition) bool { return d.Name == name }); k >= 0 {
		def = b.defs[k]
	}
	return tools.NewRaw(def, func(context.Context, string) (string, error) { return "", errors.New(why) })
}

// otherwise says which tools of an MCP server are not as they were when the run began.
func (b *Begun) otherwise(server string, now []tools.Tool) []string {
	var all []string
	for _, name := range b.MCP[server] {
		i := slices.IndexFunc(now, func(t tools.Tool) bool { return t.Definition().Name == name })
		k := slices.IndexFunc(b.defs, func(d tools.Definition) bool { return d.Name == name })
		switch {
		case i < 0:
			all = append(all, fmt.Sprintf("the MCP server %s does not offer %s any more", plaintext.Visible(server), plaintext.Visible(name)))
		case k >= 0 && !sameTexts(b.defs[k], now[i].Definition()):
			all = append(all, fmt.Sprintf("the MCP server %s describes %s in another way than when the run began; the run goes on with what was said then",
				plaintext.Visible(server), plaintext.Visible(name)))
		}
	}
	return all
}

// sameTexts reports whether two definitions say the same to a model.
func sameTexts(a, b tools.Definition) bool {
	var left, right any
	_ = json.Unmarshal(a.Parameters, &left) // nil if there are none
	_ = json.Unmarshal(b.Parameters, &right)
	return a.Description == b.Description && reflect.DeepEqual(left, right)
}

// AsksAnyway returns the policies of the tools that need an approval for each call whatever the
// approval says, such as those whose definitions are not accepted. A policy that refuses them
// holds.
func (j Job) AsksAnyway(policy machine.ApprovalPolicy) map[string]machine.ApprovalPolicy {
	all := map[string]machine.ApprovalPolicy{}
	for _, t := range j.Tools {
		if def := t.Definition(); def.NeedsApproval {
			all[def.Name] = func(r machine.ApprovalRequest) machine.Verdict {
				r.Definition.ReadOnly = false // a hint of what is not accepted allows nothing, and never refuses what asks
				return workfolder.Stricter(machine.VerdictAsk, policy(r))
			}
		}
	}
	return all
}
