package mcptools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove/installed"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// serverFile returns the path of a server in testdata/servers.
func serverFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "servers", name))
	require.NoError(t, err)
	return path
}

// pypiServers returns what runs the servers of PyPI.
func pypiServers(t *testing.T) (python, packages string) {
	t.Helper()
	return installed.PyPI(t, "mcp-4.2.3", "fastmcp==4.2.3", "mcp==2.3.0")
}

// Each result of a FastMCP server reaches the model once, whatever is its type, and its lines on
// standard output disturb nothing.
func TestPyPI_fastmcp(t *testing.T) {
	t.Parallel()
	python, packages := pypiServers(t)
	for _, protocol := range []string{"", "2025-11-25"} {
		set := connect(t, mcptools.Config{Name: "stock", Command: []string{python, serverFile(t, "fastmcp_server.py")}, Env: []string{packages}, Protocol: protocol})
		t.Log(set.Listing().Title, set.Listing().Protocol)
		for name, want := range map[string]string{"amount": "3", "names": `["nut","bolt"]`, "item": `{"name":"nut","amount":3}`, "chatty": "done"} {
			require.Equal(t, want, callNamed(t, set, name, map[bool]string{true: `{"name":"nut"}`, false: "{}"}[name == "amount"]).Output)
		}
		require.Equal(t, "nut is in stock ✓", callNamed(t, set, "describe", `{"name":"nut"}`).Output)
		require.Equal(t, tools.ReasonArguments, callNamed(t, set, "describe", `{"name":7}`).Reason)
		out := callNamed(t, set, "order", "{}")
		if protocol == "" {
			require.Equal(t, tools.ReasonError, out.Reason)
			require.Contains(t, out.Output, `MCP 2026-07-28 is spoken with the server "stock", and it may be able to ask only in an older version: set its protocol to 2025-11-25`)
		} else {
			require.Equal(t, "cancel: ", out.Output, "it asks, and nobody is there")
		}
		require.Contains(t, set.Stderr(), "fastmcp server is starting\n")
		require.Contains(t, set.Stderr(), "chatty was called\n")
	}
}

// Each item of a list of the package mcp is a text of its own, and none is told twice.
func TestPyPI_mcp(t *testing.T) {
	t.Parallel()
	python, packages := pypiServers(t)
	set := connect(t, mcptools.Config{Name: "lists", Command: []string{python, serverFile(t, "mcp_server.py")}, Env: []string{packages}})
	require.Equal(t, "Oslo\nRome", callNamed(t, set, "cities", "{}").Output)
	require.Equal(t, `{"temperature":21.0}`, strings.Join(strings.Fields(callNamed(t, set, "weather", `{"city":"Oslo"}`).Output), ""))
	out := callNamed(t, set, "move", "{}")
	require.Contains(t, out.Output, `mcptools: the server "lists" refused the call of move: `)
	require.Contains(t, out.Output, `MCP 2026-07-28 is spoken with the server "lists"`)
	require.NotContains(t, callNamed(t, set, "fail", "{}").Output, "2026-07-28", "another error says nothing of it")
	require.Contains(t, set.Stderr(), `{"level": "info", "msg": "starting"}`)
}

// Tools whose schemas zod has made are offered, with what can be checked of them checked.
func TestNPM_zod(t *testing.T) {
	t.Parallel()
	node, dir := installed.NPM(t, npmVersion, npmServers...)
	home := t.TempDir() // imports are looked up beside the script
	require.NoError(t, os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(home, "node_modules")))
	script, err := os.ReadFile(serverFile(t, "zod_server.mjs"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "server.mjs"), script, 0o600))
	set := connect(t, mcptools.Config{Name: "zod", Command: []string{node, filepath.Join(home, "server.mjs")}})
	unchecked := map[string]int{}
	for _, o := range set.Listing().Offers {
		require.Empty(t, o.LeftOut, o.Name)
		unchecked[o.Name] = len(o.Unchecked)
	}
	require.Equal(t, map[string]int{"invite": 0, "plan": 1, "mark": 1, "measure": 0}, unchecked)
	require.Equal(t, `invite {"mail":"ada@example.com"}`, callNamed(t, set, "invite", `{"mail":"ada@example.com"}`).Output)
	require.Equal(t, tools.ReasonArguments, callNamed(t, set, "invite", `{"mail":7}`).Reason)
	require.Equal(t, tools.ReasonArguments, callNamed(t, set, "mark", `{"mark":"🙂","id":"x","net":"::/0"}`).Reason, "what can be checked is")
	require.Equal(t, `plan {"at":"2026-11-27T05:00:00Z","takes":"PT1H"}`, callNamed(t, set, "plan", `{"at":"2026-11-27T05:00:00Z","takes":"PT1H"}`).Output)
	require.Equal(t, tools.ReasonError, callNamed(t, set, "mark", `{"mark":"x","id":"123e4567-e89b-12d3-a456-426614174000","net":"::/0"}`).Reason, "the server checks the rest")
	require.Equal(t, `{ "n": 5 }`, callNamed(t, set, "measure", "{}").Output)
}
