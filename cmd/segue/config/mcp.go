package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// MCPServer is a server of the Model Context Protocol, whose tools agents may use. It has a command
// or an address.
type MCPServer struct {
	Command   []string          `json:"command,omitempty" jsonschema:"a program and its arguments; it is started without a shell, and ended with segue"`
	Dir       string            `json:"dir,omitempty" jsonschema:"the working folder of the command, from the folder of this file on; not given: that of segue"`
	Env       []string          `json:"env,omitempty" jsonschema:"the NAMES of the variables that the command gets besides PATH, HOME and the like; NAME=value for what is no secret"`
	URL       string            `json:"url,omitempty" jsonschema:"the address of a server that speaks streamable HTTP"`
	HeaderEnv map[string]string `json:"header_env,omitempty" jsonschema:"headers of each request to url, and the NAME of the environment variable that holds the value of each, with Bearer before it or another scheme"`

	Protocol     string               `json:"protocol,omitempty" jsonschema:"the newest version of MCP to speak with the server, for one that asks you questions as older versions do; not given: the newest of all"`
	Prefix       string               `json:"prefix,omitempty" jsonschema:"put before the name of each tool, such as files_"`
	Allow        []string             `json:"allow,omitzero" jsonschema:"the tools to offer, by the server's names; not given: all"`
	TrustHints   bool                 `json:"trust_hints,omitempty" jsonschema:"believe the server that a tool only reads, or can be called again"`
	TrustResults bool                 `json:"trust_results,omitempty" jsonschema:"take the results for text of your own, and not from outside"`
	ShowImages   bool                 `json:"show_images,omitempty" jsonschema:"show the model the pictures of results, if its server takes them there; not given: they are attached for you"`
	Safety       map[string]MCPSafety `json:"safety,omitempty" jsonschema:"what a tool does, by the server's name: instead of what the server says"`

	Timeout        string `json:"timeout,omitempty" jsonschema:"the longest that one call may take, such as 90s or 2m; not given: that of other tools"`
	ConnectTimeout string `json:"connect_timeout,omitempty" jsonschema:"the longest that connecting and listing the tools may take; not given: 30s"`
}

// MCPSafety says what a tool of an MCP server does.
type MCPSafety struct {
	ReadOnly      bool `json:"read_only,omitempty" jsonschema:"it changes nothing"`
	Idempotent    bool `json:"idempotent,omitempty" jsonschema:"the same call made twice has its effect once"`
	Repeatable    bool `json:"repeatable,omitempty" jsonschema:"it makes sense to call it with the same arguments again and again"`
	Sequential    bool `json:"sequential,omitempty" jsonschema:"it is never called while another tool runs"`
	NeedsApproval bool `json:"needs_approval,omitempty" jsonschema:"you are asked about each call, whatever the approval says"`
}

// MCPServers returns the names of the MCP servers of an agent and of all agents that it can reach,
// sorted. strategy is that of [Options].
func (c *Config) MCPServers(agent, strategy string) []string {
	var all []string
	for _, a := range c.reach(agent, strategy) {
		all = append(all, a.MCP...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// headerVariable returns the variable that a value of header_env names, and what stands before its
// value, such as "Bearer ".
func headerVariable(value string) (scheme, variable string) {
	before, name, ok := strings.Cut(value, " ")
	if !ok {
		return "", value
	}
	return before + " ", name
}

// MCPAccess returns the working folder of the command of an MCP server, where "" is that of the
// process, the variables whose values the server gets, sorted, and which of them a configuration
// that was found may not send it, because its key is meant for the server of the environment; "":
// none. A command may send what it gets anywhere.
func (c *Config) MCPAccess(name string, getenv func(string) string) (dir string, keys []string, withheld string) {
	s := c.MCP[name]
	if dir = s.Dir; dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(c.Path), dir)
	}
	for _, value := range s.HeaderEnv {
		_, variable := headerVariable(value)
		keys = append(keys, variable)
	}
	for _, entry := range s.Env {
		if !strings.Contains(entry, "=") {
			keys = append(keys, entry)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for _, key := range keys {
		if endpoint.Configured(endpoint.Chat, cmp.Or(s.URL, "http://command.invalid"), key, getenv).Misdirected() {
			withheld = cmp.Or(withheld, key)
		}
	}
	return dir, keys, withheld
}

// MCPTarget identifies what is behind an MCP server, whatever a file calls it: its command, with
// the folder if that matters, or its address.
func (c *Config) MCPTarget(name string) string { return c.MCPTargetFrom(name, ".") }

// MCPTargetFrom is MCPTarget where a program with a relative path, whose folder is not said, is one
// from another folder on than the working folder of this process.
func (c *Config) MCPTargetFrom(name, folder string) string {
	s := c.MCP[name]
	if s.URL != "" {
		return s.URL
	}
	command := s.Command
	dir, _, _ := c.MCPAccess(name, os.Getenv)
	if dir == "" && strings.ContainsAny(command[0], `/\`) && !filepath.IsAbs(command[0]) {
		dir = folder
	}
	if whole, err := filepath.Abs(dir); dir != "" && err == nil {
		dir = whole
	}
	text, err := json.Marshal(command)
	if err != nil {
		return strings.Join(command, " ")
	}
	if dir == "" {
		return string(text)
	}
	return string(text) + " in " + dir
}

// MCPConfig returns how to connect to an MCP server, with the values of the variables that it gets.
// Getenv reads environment variables; nil means [os.Getenv]. It returns an error if there is no
// such server, if the variable of a header is not set, or if a file that was found would send a key
// to a server for which the key is not meant.
func (c *Config) MCPConfig(name string, getenv func(string) string) (mcptools.Config, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	s, ok := c.MCP[name]
	if !ok {
		return mcptools.Config{}, fmt.Errorf("no MCP server %q; there are: %s", name, listed(c.MCP))
	}
	dir, _, withheld := c.MCPAccess(name, getenv)
	if c.Found && withheld != "" {
		return mcptools.Config{}, fmt.Errorf("MCP server %s: %s goes to the server of the environment alone; %s was found, not named, and cannot send it elsewhere: name the file with --config",
			name, withheld, c.Path)
	}
	made := mcptools.Config{
		Name: name, Command: s.Command, Dir: dir, URL: s.URL, Prefix: s.Prefix, Allow: s.Allow, TrustHints: s.TrustHints, TrustResults: s.TrustResults,
		ShowImages: s.ShowImages, Protocol: s.Protocol,
	}
	var err error
	if made.CallTimeout, err = durationOf(s.Timeout); err != nil {
		return made, err
	}
	if made.ConnectTimeout, err = durationOf(s.ConnectTimeout); err != nil {
		return made, err
	}
	for _, entry := range s.Env {
		if variable, _, given := strings.Cut(entry, "="); given {
			made.Env = append(made.Env, entry)
		} else if value := getenv(variable); value != "" {
			made.Env = append(made.Env, variable+"="+value)
		}
	}
	for _, header := range sortedKeys(s.HeaderEnv) {
		scheme, variable := headerVariable(s.HeaderEnv[header])
		value := getenv(variable)
		if value == "" {
			return made, fmt.Errorf("MCP server %s: the environment variable %s, which its header_env names, is not set", name, variable)
		}
		if made.Headers == nil {
			made.Headers = map[string]string{}
		}
		made.Headers[header] = scheme + value
	}
	for tool, said := range s.Safety {
		if made.Safety == nil {
			made.Safety = map[string]mcptools.Safety{}
		}
		made.Safety[tool] = mcptools.Safety(said)
	}
	return made, nil
}

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
				return fmt.Errorf("agent %s: it uses the MCP server %s, which is not connected", agent.name, server)
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
