package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/trust"
	"github.com/segue-go/segue/tools/mcptools"
)

// What is said of the definition of a tool of an MCP server, compared with what was accepted.
const (
	toolAccepted = "accepted"
	ToolNew      = "new"
	ToolChanged  = "changed"
)

// StateOf compares an offer with what was accepted.
func (s *MCPServer) StateOf(o *mcptools.Offer) string {
	switch a, ok := s.Accepted[o.Name]; {
	case !ok:
		return ToolNew
	case a.Fingerprint != o.Fingerprint:
		return ToolChanged
	default:
		return toolAccepted
	}
}

// unaccepted returns those of the offers that a run gets and that are not accepted as they are.
func (s *MCPServer) unaccepted(offers []mcptools.Offer) []mcptools.Offer {
	var all []mcptools.Offer
	for _, o := range offers {
		if o.LeftOut == "" && s.StateOf(&o) != toolAccepted {
			all = append(all, o)
		}
	}
	return all
}

// textOf returns what the user accepts of an offer: its description and its parameters.
func textOf(o *mcptools.Offer) string {
	var parameters any
	var text strings.Builder
	text.WriteString(strings.TrimSpace(o.Definition.Description) + "\n")
	if json.Unmarshal(o.Definition.Parameters, &parameters) == nil {
		if indented, err := json.MarshalIndent(parameters, "", "  "); err == nil {
			text.WriteString("parameters " + string(indented) + "\n")
		}
	}
	for _, hint := range []struct {
		said bool
		what string
	}{
		{o.Hints.ReadOnly, "says that it only reads"},
		{o.Hints.Idempotent, "says that it can be called again"},
		{o.Hints.Destructive != nil && *o.Hints.Destructive, "says that it can destroy"},
	} {
		if hint.said {
			text.WriteString(hint.what + "\n")
		}
	}
	return text.String()
}

// maxShownChange is how many lines of a change are shown.
const maxShownChange = 30

// ChangeOf shows how an offer differs from what was accepted.
func (s *MCPServer) ChangeOf(o *mcptools.Offer) []terminal.Line {
	before, now := s.Accepted[o.Name].Text, textOf(o)
	if before == now {
		return []terminal.Line{terminal.Warn.Line("    its description and parameters are the same; something else that the server says of it is not, such as its title or its output")}
	}
	changed := terminal.Difference(before, now)
	var lines []terminal.Line
	for _, line := range changed[:min(maxShownChange, len(changed))] {
		lines = append(lines, line.Style.Line("  "+line.Text))
	}
	if more := len(changed) - maxShownChange; more > 0 {
		lines = append(lines, terminal.Warn.Line("    and "+plaintext.Counted(more, "more line")))
	}
	return lines
}

// describeUnaccepted shows the tools that are not accepted, before the user is asked about them.
func (s *MCPServer) describeUnaccepted(offers []mcptools.Offer) []terminal.Line {
	const most = 40 // tools
	lines := []terminal.Line{
		terminal.Bold.Line(fmt.Sprintf("MCP server %s has %s that you have not accepted:", s.Name, plaintext.Counted(len(offers), "tool"))),
		terminal.Plain.Line("  " + plaintext.Visible(s.Target)),
	}
	for i, o := range offers {
		if i == most {
			lines = append(lines, terminal.Warn.Line(fmt.Sprintf("  and %s; see them all with: segue tools %s", plaintext.Counted(len(offers)-most, "more tool"), Quoted(s.Name))))
			break
		}
		if s.StateOf(&o) == ToolChanged {
			lines = append(lines, terminal.Warn.Line("  "+plaintext.Visible(o.ToolName)+" has changed since you accepted it:"))
			lines = append(lines, s.ChangeOf(&o)...)
			continue
		}
		lines = append(lines, terminal.Plain.Line("  "+plaintext.Visible(o.ToolName)+": "+plaintext.Visible(plaintext.Head(plaintext.OneLine(o.Definition.Description), 200))))
	}
	return append(lines, terminal.Plain.Line("  Each whole, with its parameters: segue tools "+Quoted(s.Name)+" --output json"))
}

// accept records that the tools of the server are accepted as these offers are, and no others are.
func (s *MCPServer) accept(c *CLI, offers []mcptools.Offer) error {
	store, err := trust.UserAccepted(c.Getenv)
	if err != nil {
		return err
	}
	all := map[string]trust.AcceptedTool{}
	for _, o := range offers {
		if o.LeftOut == "" {
			all[o.Name] = trust.AcceptedTool{Fingerprint: o.Fingerprint, Text: textOf(&o)}
		}
	}
	if err := store.Accept(s.Target, all); err != nil {
		return err
	}
	s.Accepted = all
	return nil
}

// AskAccepted asks the user at the terminal whether the tools of a server are accepted, if some are
// not. With a yes it returns a new connection, whose tools need no approval for that. What was
// shown is accepted: what the server says otherwise meanwhile, or on the new connection, is not.
func (c *CLI) AskAccepted(ctx context.Context, cfg *config.Config, s *MCPServer, on *terminal.Screen) (*MCPServer, error) {
	shown := s.Set.Listing().Offers
	offers := s.unaccepted(shown)
	if len(offers) == 0 || s.declined {
		return s, nil
	}
	yes, err := c.Confirm(ctx, on, "accept them? y yes, n no: you are asked about each call > ", s.describeUnaccepted(offers))
	if err != nil {
		return nil, err
	}
	if !yes {
		s.declined = true
		return s, nil
	}
	return c.AcceptAll(ctx, cfg, s, shown)
}

// AcceptAll records that the tools of a server are accepted as these offers are, and returns a new
// connection, whose tools need no approval for that.
func (c *CLI) AcceptAll(ctx context.Context, cfg *config.Config, s *MCPServer, offers []mcptools.Offer) (*MCPServer, error) {
	if err := s.accept(c, offers); err != nil {
		return nil, err
	}
	c.MCP.forget(s)
	again, errs := c.ConnectMCP(ctx, cfg, []string{s.Name})
	return again[0], errs[0]
}

// NoSuchTools says that a server does not have tools that the configuration names.
func NoSuchTools(names []string) string {
	return "allow and safety name tools that it does not have: " + strings.Join(names, ", ")
}
