package config

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// addMCP adds the tools of the MCP servers of the agents. Another tool or agent of the same name is
// an error: which one is called must not depend on an order.
func (s *Setup) addMCP(reached []reachedAgent, o Options) error {
	owner := map[string]string{}
	for _, t := range o.Tools {
		owner[t.Definition().Name] = "segue"
	}
	for _, name := range append([]string{tools.AskUserName}, sortedKeys(s.config.Agents)...) {
		owner[name] = "segue"
	}
	if o.large {
		owner[orchestrator.ReadResultTool] = "segue"
	}
	added := map[string]bool{}
	for _, agent := range reached {
		for _, server := range agent.MCP {
			list, connected := o.MCP[server]
			if !connected {
				return fmt.Errorf("agent %s: %w", agent.name, missingServer(server))
			}
			if added[server] {
				continue
			}
			added[server] = true
			for _, t := range list {
				name := t.Definition().Name
				if other := owner[name]; other != "" {
					return fmt.Errorf("the MCP server %s has a tool %s, and so has %s: give the server a prefix, such as prefix: %s_, or leave the tool out of its allow",
						server, name, other, server)
				}
				owner[name] = "the MCP server " + server
				s.Tools, s.remote = append(s.Tools, t), append(s.remote, name)
			}
		}
	}
	return nil
}

// unmatched returns the approval settings of agents with MCP servers that are for no tool. Those of
// other agents were found before.
func (s *Setup) unmatched(reached []reachedAgent) []string {
	var all []string
	for _, agent := range reached {
		if len(agent.MCP) == 0 {
			continue
		}
		for _, tool := range sortedKeys(agent.Approval.Tools) {
			if !slices.Contains(toolNames, tool) && !slices.Contains(s.remote, tool) && !slices.Contains(agent.children(asTool), tool) {
				all = append(all, agent.name+": "+tool)
			}
		}
	}
	return all
}

// noMCPTools stands for the servers of the file where none is connected.
func (c *Config) noMCPTools() map[string][]tools.Tool {
	none := map[string][]tools.Tool{}
	for name := range c.MCP {
		none[name] = nil
	}
	return none
}
