package main

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
	toolNew      = "new"
	toolChanged  = "changed"
)

// stateOf compares an offer with what was accepted.
func (s *mcpServer) stateOf(o *mcptools.Offer) string {
	switch a, ok := s.accepted[o.Name]; {
	case !ok:
		return toolNew
	case a.Fingerprint != o.Fingerprint:
		return toolChanged
	default:
		return toolAccepted
	}
}

// unaccepted returns those of the offers that a run gets and that are not accepted as they are.
func (s *mcpServer) unaccepted(offers []mcptools.Offer) []mcptools.Offer {
	var all []mcptools.Offer
	for _, o := range offers {
		if o.LeftOut == "" && s.stateOf(&o) != toolAccepted {
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

// changeOf shows how an offer differs from what was accepted.
func (s *mcpServer) changeOf(o *mcptools.Offer) []terminal.Line {
	before, now := s.accepted[o.Name].Text, textOf(o)
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
func (s *mcpServer) describeUnaccepted(offers []mcptools.Offer) []terminal.Line {
	const most = 40 // tools
	lines := []terminal.Line{
		terminal.Bold.Line(fmt.Sprintf("MCP server %s has %s that you have not accepted:", s.name, plaintext.Counted(len(offers), "tool"))),
		terminal.Plain.Line("  " + plaintext.Visible(s.target)),
	}
	for i, o := range offers {
		if i == most {
			lines = append(lines, terminal.Warn.Line(fmt.Sprintf("  and %s; see them all with: segue tools %s", plaintext.Counted(len(offers)-most, "more tool"), quoted(s.name))))
			break
		}
		if s.stateOf(&o) == toolChanged {
			lines = append(lines, terminal.Warn.Line("  "+plaintext.Visible(o.ToolName)+" has changed since you accepted it:"))
			lines = append(lines, s.changeOf(&o)...)
			continue
		}
		lines = append(lines, terminal.Plain.Line("  "+plaintext.Visible(o.ToolName)+": "+plaintext.Visible(plaintext.Head(plaintext.OneLine(o.Definition.Description), 200))))
	}
	return append(lines, terminal.Plain.Line("  Each whole, with its parameters: segue tools "+quoted(s.name)+" --output json"))
}

// accept records that the tools of the server are accepted as these offers are, and no others are.
func (s *mcpServer) accept(c *cli, offers []mcptools.Offer) error {
	store, err := trust.UserAccepted(c.getenv)
	if err != nil {
		return err
	}
	all := map[string]trust.AcceptedTool{}
	for _, o := range offers {
		if o.LeftOut == "" {
			all[o.Name] = trust.AcceptedTool{Fingerprint: o.Fingerprint, Text: textOf(&o)}
		}
	}
	if err := store.Accept(s.target, all); err != nil {
		return err
	}
	s.accepted = all
	return nil
}

// askAccepted asks the user at the terminal whether the tools of a server are accepted, if some are
// not. With a yes it returns a new connection, whose tools need no approval for that. What was
// shown is accepted: what the server says otherwise meanwhile, or on the new connection, is not.
func (c *cli) askAccepted(ctx context.Context, cfg *config.Config, s *mcpServer, on *terminal.Screen) (*mcpServer, error) {
	shown := s.set.Listing().Offers
	offers := s.unaccepted(shown)
	if len(offers) == 0 || s.declined {
		return s, nil
	}
	yes, err := c.confirm(ctx, on, "accept them? y yes, n no: you are asked about each call > ", s.describeUnaccepted(offers))
	if err != nil {
		return nil, err
	}
	if !yes {
		s.declined = true
		return s, nil
	}
	return c.acceptAll(ctx, cfg, s, shown)
}

// acceptAll records that the tools of a server are accepted as these offers are, and returns a new
// connection, whose tools need no approval for that.
func (c *cli) acceptAll(ctx context.Context, cfg *config.Config, s *mcpServer, offers []mcptools.Offer) (*mcpServer, error) {
	if err := s.accept(c, offers); err != nil {
		return nil, err
	}
	c.mcp.forget(s)
	again, errs := c.connectMCP(ctx, cfg, []string{s.name})
	return again[0], errs[0]
}
