package mcptools_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove/installed"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// npmVersion is the name of npmServers.
const npmVersion = "mcp-2026.8.31"

// npmServers are the servers of the MCP project, and what makes servers, in the versions that these
// tests were written for.
var npmServers = []string{
	"@modelcontextprotocol/server-everything@2026.8.31",
	"@modelcontextprotocol/server-filesystem@2026.8.31",
	"@modelcontextprotocol/server-memory@2026.8.31",
	"@modelcontextprotocol/sdk@1.32.2",
	"zod@4.6.7",
}

// npmServer returns the script of a server.
func npmServer(t *testing.T, name string) (node, script string) {
	t.Helper()
	node, dir := installed.NPM(t, npmVersion, npmServers...)
	return node, filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
}

func callNamed(t *testing.T, set *mcptools.Toolset, name, arguments string) messages.ToolOutput {
	t.Helper()
	for _, tool := range set.Tools() {
		if tool.Definition().Name == name {
			return toolrun.Runner{}.Run(t.Context(), toolrun.Job{Call: messages.ToolCall{ID: "c", Name: name, Arguments: arguments}, Tool: tool})
		}
	}
	require.Failf(t, "no such tool", "%s; there are %v", name, set.Listing())
	return messages.ToolOutput{}
}

// TestNPM_everything tries the server that exercises every feature of MCP, over both transports.
func TestNPM_everything(t *testing.T) {
	t.Parallel()
	node, script := npmServer(t, "everything")
	over := map[string]func(t *testing.T) mcptools.Config{
		"stdio": func(*testing.T) mcptools.Config {
			return mcptools.Config{Name: "everything", Command: []string{node, script, "stdio"}}
		},
		"streamable HTTP": func(t *testing.T) mcptools.Config {
			return mcptools.Config{Name: "everything", URL: serveNPM(t, node, script)}
		},
	}
	for name, config := range over {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := mcptools.Connect(t.Context(), config(t))
			require.NoError(t, err)
			defer set.Close()
			left := map[string]string{}
			for _, o := range set.Listing().Offers {
				if o.LeftOut != "" {
					left[o.Name] = o.LeftOut
				}
			}
			require.Equal(t, map[string]string{"simulate-research-query": "each call of it is a task, and tasks are not supported"}, left)
			require.Equal(t, "Echo: hello", callNamed(t, set, "echo", `{"message":"hello"}`).Output)
			require.Contains(t, callNamed(t, set, "get-sum", `{"a":2,"b":3}`).Output, "5")
			out := callNamed(t, set, "get-sum", `{"a":"two"}`)
			require.Equal(t, tools.ReasonArguments, out.Reason, out.Output)
			out = callNamed(t, set, "get-structured-content", `{"location":"New York"}`)
			require.True(t, out.OK(), out.Output)
			require.Contains(t, out.Output, "temperature")
			out = callNamed(t, set, "get-tiny-image", `{}`)
			require.True(t, out.OK(), out.Output)
			require.Contains(t, out.Output, "image/png")
			require.Less(t, len(out.Output), 2000)
			out = callNamed(t, set, "trigger-long-running-operation", `{"duration":1,"steps":4}`)
			require.True(t, out.OK(), out.Output)
			require.True(t, out.Untrusted)
		})
	}
}

// serveNPM starts the server that speaks streamable HTTP, and returns its address.
func serveNPM(t *testing.T, node, script string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	server := exec.Command(node, script, "streamableHttp")
	server.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	address := fmt.Sprint("127.0.0.1:", port)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	return "http://" + address + "/mcp"
}

// TestNPM_filesystem reads and writes files through the server, and is refused others.
func TestNPM_filesystem(t *testing.T) {
	t.Parallel()
	node, script := npmServer(t, "filesystem")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("content of a"), 0o600))
	set, err := mcptools.Connect(t.Context(), mcptools.Config{Command: []string{node, script, dir}, Name: "files", Prefix: "fs_", TrustHints: true})
	require.NoError(t, err)
	defer set.Close()
	path := func(name string) string {
		quoted, err := json.Marshal(map[string]string{"path": filepath.Join(dir, name), "content": "new"})
		require.NoError(t, err)
		return string(quoted)
	}
	require.Equal(t, "content of a", callNamed(t, set, "fs_read_text_file", strings.Replace(path("a.txt"), `"content":"new",`, "", 1)).Output)
	require.True(t, callNamed(t, set, "fs_write_file", path("b.txt")).OK())
	written, err := os.ReadFile(filepath.Join(dir, "b.txt"))
	require.NoError(t, err)
	require.Equal(t, "new", string(written))
	out := callNamed(t, set, "fs_write_file", `{"path":"/etc/segue-test","content":"x"}`)
	require.False(t, out.OK())
	for _, tool := range set.Tools() {
		def := tool.Definition()
		if def.Name == "fs_read_text_file" {
			require.True(t, def.ReadOnly)
		}
		if def.Name == "fs_write_file" {
			require.False(t, def.ReadOnly)
		}
	}
}

// TestNPM_memory keeps a graph in the server, which a second connection reads.
func TestNPM_memory(t *testing.T) {
	t.Parallel()
	node, script := npmServer(t, "memory")
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	connect := func() *mcptools.Toolset {
		set, err := mcptools.Connect(t.Context(), mcptools.Config{Command: []string{node, script}, Name: "memory", Env: []string{"MEMORY_FILE_PATH=" + file}})
		require.NoError(t, err)
		return set
	}
	set := connect()
	out := callNamed(t, set, "create_entities", `{"entities":[{"name":"Segue","entityType":"library","observations":["is written in Go"]}]}`)
	require.True(t, out.OK(), out.Output)
	require.NoError(t, set.Close())
	set = connect()
	defer set.Close()
	out = callNamed(t, set, "search_nodes", `{"query":"Segue"}`)
	require.True(t, out.OK(), out.Output)
	require.Equal(t, 1, strings.Count(out.Output, "is written in Go"), "it is told once")
}
