package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// Large results are kept where an agent uses MCP servers, unless the file says otherwise.
func TestKeepLarge_mcp(t *testing.T) {
	const servers = "mcp: {f: {command: [x]}}\n"
	for text, want := range map[string]int64{
		"agents: {a: {}}":                                             0,
		servers + "agents: {a: {}}":                                   0,
		servers + "agents: {a: {mcp: [f]}}":                           usualKept,
		servers + "agents: {a: {mcp: [f]}}\nlarge_results: {keep: 0}": 0,
		servers + "agents: {a: {mcp: [f]}}\nlarge_results: {keep: 9}": 9,
		"agents: {a: {}}\nlarge_results: {show: 300}":                 usualKept,
	} {
		require.Equal(t, want, sound(t, text).KeepLarge().Keep, text)
	}
}

// An agent with MCP servers can read what is kept of their results, also if it names its other
// tools.
func TestKeepLarge_offered(t *testing.T) {
	c := sound(t, "mcp: {f: {command: [x]}}\nagents: {a: {mcp: [f], tools: []}, b: {tools: []}}\ndefault: a\n")
	o := Options{MCP: map[string][]tools.Tool{"f": named("look")}, large: true}
	for agent, want := range map[string][]string{"a": {orchestrator.ReadResultTool, "look"}, "b": {}} {
		got, err := c.Agents[agent].offered(o)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := c.Setup("a", Options{MCP: map[string][]tools.Tool{"f": named(orchestrator.ReadResultTool)}})
	require.ErrorContains(t, err, "the MCP server f has a tool read_result, and so has segue")
}
