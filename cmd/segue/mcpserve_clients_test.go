package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The clients of the MCP project, in the versions that these tests were written for.
const (
	npmClient  = "@modelcontextprotocol/sdk@1.32.2"
	pypiClient = "mcp==2.3.0"
)

// installed returns a folder in the user's cache in which a client is installed. It is installed
// beside it and moved into place, so that it is whole or not there, whoever else installs it.
func installed(t *testing.T, name, program string, args func(dir string) []string) (dir string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is missing: install it to try the MCP client %s", program, name)
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	above := filepath.Join(cache, "segue-test")
	dir = filepath.Join(above, name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	require.NoError(t, os.MkdirAll(above, 0o755))
	beside, err := os.MkdirTemp(above, name+"-") //nolint:usetesting // moved into place, so on the same disk
	require.NoError(t, err)
	defer os.RemoveAll(beside)
	if out, err := exec.CommandContext(t.Context(), path, args(beside)...).CombinedOutput(); err != nil {
		t.Skipf("the MCP client %s cannot be installed: %v\n%.1000s", name, err, out)
	}
	if err := os.Rename(beside, dir); err != nil {
		require.DirExists(t, dir, "somebody else has installed it meanwhile: %v", err)
	}
	return dir
}

// clientReport is what a client prints of its calls.
type clientReport struct {
	Tools                []string
	Slow, Wrong, Unknown string // texts of results
	Declined             string
	Progress             []string // while the model was silent
	Asked                int
}

// heardBy has a client call an agent: with a silent model and a time-out that is shorter than the
// silence, with wrong arguments, and for an approval that its person declines.
func heardBy(t *testing.T, client *exec.Cmd) {
	t.Helper()
	dir, model := t.TempDir(), newSlowModel(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agents.yaml"), []byte(servedConfig), 0o600))
	segue, err := exec.LookPath("segue")
	require.NoError(t, err)
	args, err := json.Marshal([]string{"mcp", "serve", "--config", filepath.Join(dir, "agents.yaml"), "--base-url", model.URL, "--dir", dir, "--store", "none"})
	require.NoError(t, err)
	client.Env = append(client.Env, "SEGUE="+segue, "ARGS="+string(args), "HOME="+dir, "PATH="+os.Getenv("PATH"), "OPENAI_API_KEY=unused-key", "GORACE="+noSleep)
	go func() {
		<-model.asked
		time.Sleep(3 * silence)
		model.replies <- isDone
		<-model.asked
		model.replies <- wantsToWrite
		<-model.asked
		model.replies <- isDone
	}()
	out, err := client.Output()
	failed, _ := err.(*exec.ExitError) //nolint:errorlint // from Output
	if failed != nil {
		t.Log(string(failed.Stderr))
	}
	require.NoError(t, err, string(out))
	var r clientReport
	require.NoError(t, json.Unmarshal(out, &r), string(out))
	require.Equal(t, []string{"helper"}, r.Tools)
	require.NotEmpty(t, r.Slow)
	require.GreaterOrEqual(t, len(r.Progress), 3, r.Progress)
	require.Equal(t, "the argument task must be a text that says what the agent is to do", r.Wrong)
	require.Equal(t, `there is no argument "zzz": the arguments are task and data`, r.Unknown)
	require.Equal(t, r.Slow, r.Declined, "the model says the same")
	require.Equal(t, 2, r.Asked, "wantsToWrite makes two calls")
	require.NoFileExists(t, filepath.Join(dir, "a"))
}

// TestMCPServe_typescript serves the client of the MCP project for TypeScript.
func TestMCPServe_typescript(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: install Node.js to try the MCP client from npm")
	}
	dir := installed(t, "mcp-client-npm-1.32.2", "npm", func(dir string) []string {
		return []string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, npmClient}
	})
	beside := t.TempDir() // node finds packages beside a script
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(beside, "node_modules")); err != nil {
		t.Skipf("no link can be made: %v", err)
	}
	script := filepath.Join(beside, "client.mjs")
	text, err := os.ReadFile("testdata/mcpclients/client.mjs")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(script, text, 0o600))
	heardBy(t, exec.CommandContext(t.Context(), node, script))
}

// TestMCPServe_python serves the client of the MCP project for Python.
func TestMCPServe_python(t *testing.T) {
	t.Parallel()
	dir := installed(t, "mcp-client-pypi-2.3.0", "python3", func(dir string) []string {
		return []string{"-m", "pip", "install", "--quiet", "--target", dir, pypiClient}
	})
	client := exec.CommandContext(t.Context(), "python3", "testdata/mcpclients/client.py")
	client.Env = []string{"PYTHONPATH=" + dir}
	heardBy(t, client)
}
