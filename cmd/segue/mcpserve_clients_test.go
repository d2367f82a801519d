package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove/installed"
)

// The clients of the MCP project, in the versions that these tests were written for.
const (
	npmClient  = "@modelcontextprotocol/sdk@1.32.2"
	pypiClient = "mcp==2.3.0"
)

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
	node, dir := installed.NPM(t, "mcp-client-1.32.2", npmClient)
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
	python, packages := installed.PyPI(t, "mcp-client-2.3.0", pypiClient)
	client := exec.CommandContext(t.Context(), python, "testdata/mcpclients/client.py")
	client.Env = []string{packages}
	heardBy(t, client)
}
