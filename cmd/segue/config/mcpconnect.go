package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/segue-go/segue/tools/mcptools"
)

// MCPTarget identifies what is behind an MCP server, whatever a file calls it: its command, with
// the folder if that matters, or its address.
func (c *Config) MCPTarget(name string) string {
	s := c.MCP[name]
	if s.URL != "" {
		return s.URL
	}
	command, dir := s.Command, c.MCPDir(s)
	if dir == "" && strings.ContainsAny(command[0], `/\`) && !filepath.IsAbs(command[0]) {
		dir = "."
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
	if variable := s.Withheld(getenv); c.Found && variable != "" {
		return mcptools.Config{}, fmt.Errorf("MCP server %s: %s goes to the server of the environment alone; %s was found, not named, and cannot send it elsewhere: name the file with --config",
			name, variable, c.Path)
	}
	made := mcptools.Config{
		Name: name, Command: s.Command, Dir: c.MCPDir(s), URL: s.URL, Prefix: s.Prefix, Allow: s.Allow, TrustHints: s.TrustHints, TrustResults: s.TrustResults,
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
		scheme, variable := MCPVariable(s.HeaderEnv[header])
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
