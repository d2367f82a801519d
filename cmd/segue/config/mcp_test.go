package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// The version of MCP that a server is offered is the one that the file says.
func TestMCP_protocol(t *testing.T) {
	c := sound(t, "mcp: {a: {command: [x], protocol: 2025-06-18}, b: {command: [x]}}\nagents: {a: {mcp: [a, b]}}\n")
	for name, want := range map[string]string{"a": "2025-06-18", "b": ""} {
		made, err := c.MCPConfig(name, nil)
		require.NoError(t, err)
		require.Equal(t, want, made.Protocol)
	}
}

func TestMCP_warnings(t *testing.T) {
	c := sound(t, "mcp:\n  a: {url: 'http://h', header_env: {Authorization: Bearer THEIR_KEY}}\n  b: {command: [x], env: [OTHER, SET, LEVEL=warn]}\nmodels: {m: {model: x, base_url: 'http://m'}}\nagents: {a: {mcp: [a]}}\n")
	var got []string
	for _, w := range c.Warnings(func(name string) string { return map[string]string{"SET": "x"}[name] }) {
		got = append(got, w.String())
	}
	require.Equal(t, []string{
		"2:37: mcp.a.header_env.Authorization: the environment variable THEIR_KEY is not set; set it before this server is used",
		"3:3: mcp.b: no agent uses this server; say mcp: [b] in one",
		"3:27: mcp.b.env[0]: the environment variable OTHER is not set; the command does without it",
	}, got)
}

// named makes tools by name, which do nothing.
func named(names ...string) []tools.Tool {
	var all []tools.Tool
	for _, name := range names {
		all = append(all, tools.New(tools.Definition{Name: name}, nothing))
	}
	return all
}

// An agent has the tools of the servers that it names, and no others.
func TestMCP_tools(t *testing.T) {
	c := sound(t, `
mcp: {files: {command: [x]}, issues: {url: 'http://h'}, other: {command: [y]}}
agents:
  lead: {mcp: [files], tools: [read_file], children: [{agent: helper}]}
  helper: {description: Helps., mcp: [issues]}
  planner: {strategy: plan-revise-execute, mcp: [other], tools: []}
  boss: {strategy: planning, tools: [], children: [{agent: asks, as: executor}]}
  asks: {mcp: [issues], tools: []}
default: lead
`)
	require.Equal(t, []string{"files", "issues"}, c.MCPServers("lead", ""))
	require.Empty(t, c.MCPServers("lead", "llm-only"))
	o := Options{Tools: named("read_file"), MCP: map[string][]tools.Tool{"files": named("move"), "issues": named("create")}}
	s, err := c.Setup("lead", o)
	require.NoError(t, err)
	offers := func(s *Setup, name string) []string {
		st, err := s.Strategies.New(name)
		require.NoError(t, err)
		b, ok := st.(strategy.Bounder)
		require.True(t, ok)
		return b.Bounds().Offers
	}
	require.Equal(t, []string{"read_file", "read_result", "move", "helper"}, offers(s, "lead"))
	require.Equal(t, []string{"read_file", "read_result", "create"}, offers(s, "helper"))
	_, err = orchestrator.New(orchestrator.Config{Strategies: s.Strategies, Tools: s.Tools, LargeResults: c.KeepLarge()})
	require.Error(t, err) // there is no client; names are in order
	require.NotContains(t, err.Error(), "move")

	c.Agents["helper"] = Agent{Description: "Helps.", MCP: []string{"issues"}, Approval: Approval{Tools: map[string]string{"create": "never", "creat": "never", "read_file": "ask"}}}
	s, err = c.Setup("helper", o)
	require.NoError(t, err)
	require.Equal(t, []string{"helper: creat"}, s.Unmatched)
	_, err = c.Setup("planner", o)
	require.EqualError(t, err, "agent planner: it uses the MCP server other, which is not connected")
	o.MCP["issues"] = named("move")
	_, err = c.Setup("lead", o)
	require.EqualError(t, err, "the MCP server issues has a tool move, and so has the MCP server files: give the server a prefix, such as prefix: issues_, or leave the tool out of its allow")
	o.MCP["issues"] = named("read_file")
	_, err = c.Setup("helper", o)
	require.EqualError(t, err, "the MCP server issues has a tool read_file, and so has segue: give the server a prefix, such as prefix: issues_, or leave the tool out of its allow")
	o.MCP["issues"] = named("ask_user")
	_, err = c.Setup("helper", o)
	require.ErrorContains(t, err, "has a tool ask_user, and so has segue")
}

// A configuration that was found does not pass on the key of the environment's server.
func TestMCP_withheld(t *testing.T) {
	for want, servers := range map[string][]MCPServer{
		"OPENAI_API_KEY": {{URL: "http://h", HeaderEnv: map[string]string{"A": "Bearer OPENAI_API_KEY"}}, {Command: []string{"x"}, Env: []string{"OPENAI_API_KEY"}}},
		"":               {{Command: []string{"x"}, Env: []string{"OPENAI_LEVEL=1", "OTHER_KEY"}}},
	} {
		for _, server := range servers {
			c := &Config{File: File{MCP: map[string]MCPServer{"m": server}}}
			_, _, withheld := c.MCPAccess("m", func(string) string { return "" })
			require.Equal(t, want, withheld)
		}
	}
}

// Servers get the values of the variables that the file names, and no others.
func TestMCP_config(t *testing.T) {
	c := sound(t, `
mcp:
  files: {command: [./server, -x], dir: sub, env: [SET, NOT_SET, LEVEL=1], timeout: 5s, connect_timeout: 7s, safety: {move: {sequential: true}}, allow: [move]}
  issues: {url: 'http://h', header_env: {Authorization: Bearer SET, X-Key: SET}}
  keyless: {url: 'http://h', header_env: {X-Key: NOT_SET}}
  stolen: {url: 'http://h', header_env: {X-Key: OPENAI_API_KEY}}
agents: {a: {}}
`)
	getenv := func(name string) string {
		return map[string]string{"SET": "secret", "OPENAI_API_KEY": "key"}[name]
	}
	files, err := c.MCPConfig("files", getenv)
	require.NoError(t, err)
	require.Equal(t, mcptools.Config{
		Name: "files", Command: []string{"./server", "-x"}, Dir: "sub", Env: []string{"SET=secret", "LEVEL=1"}, Allow: []string{"move"},
		CallTimeout: 5 * time.Second, ConnectTimeout: 7 * time.Second, Safety: map[string]mcptools.Safety{"move": {Sequential: true}},
	}, files)
	issues, err := c.MCPConfig("issues", getenv)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer secret", "X-Key": "secret"}, issues.Headers)
	_, err = c.MCPConfig("keyless", getenv)
	require.EqualError(t, err, "MCP server keyless: the environment variable NOT_SET, which its header_env names, is not set")
	_, err = c.MCPConfig("other", getenv)
	require.EqualError(t, err, `no MCP server "other"; there are: files, issues, keyless, stolen`)
	_, err = c.MCPConfig("stolen", getenv)
	require.NoError(t, err)
	c.Found = true
	_, err = c.MCPConfig("stolen", getenv)
	require.EqualError(t, err, "MCP server stolen: OPENAI_API_KEY goes to the server of the environment alone; segue.yaml was found, not named, and cannot send it elsewhere: name the file with --config")

	whole, err := filepath.Abs("sub")
	require.NoError(t, err)
	require.Equal(t, `["./server","-x"] in `+whole, c.MCPTarget("files"))
	require.Equal(t, "http://h", c.MCPTarget("issues"))
}
