package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools/mcptools"
)

// silence is how long a client hears nothing of a run that is at work.
const silence = 4 * time.Second

// served is a segue mcp serve, with a model that answers when it is told to.
type served struct {
	t       *testing.T
	dir     string
	model   *slowModel
	cmd     *exec.Cmd
	logs    strings.Builder
	session *mcp.ClientSession

	mu       sync.Mutex
	progress []string
	asked    []string
}

const servedConfig = `
agents:
  helper: {description: Helps with everything., tools: [write_file, ask_user]}
  hidden: {}
default: helper
profiles:
  careful: {approve: never, agent: hidden}
`

// serveAgents starts segue mcp serve, and connects to it. elicit answers what the client is asked;
// nil: the client does not know elicitation. version is that of the protocol.
func serveAgents(t *testing.T, version string, elicit func(*mcp.ElicitParams) *mcp.ElicitResult, args ...string) *served {
	t.Helper()
	s := &served{t: t, dir: t.TempDir(), model: newSlowModel(t)}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "agents.yaml"), []byte(servedConfig), 0o600))
	s.cmd = exec.CommandContext(t.Context(), "segue", append([]string{
		"mcp", "serve", "--config", "agents.yaml", "--base-url", s.model.URL, "--dir", ".", "--store", "runs.db",
	}, args...)...)
	s.cmd.Dir, s.cmd.Stderr = s.dir, &s.logs
	s.cmd.Env = append(os.Environ(), "GORACE="+noSleep)
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.progress = append(s.progress, r.Params.Message)
	}}
	if elicit != nil {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			s.mu.Lock()
			s.asked = append(s.asked, r.Params.Message)
			s.mu.Unlock()
			return elicit(r.Params), nil
		}
	}
	var err error
	s.session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).
		Connect(t.Context(), &mcp.CommandTransport{Command: s.cmd, TerminateDuration: 20 * time.Second}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.session.Close() })
	return s
}

// close ends the server by the end of its input, which is no error.
func (s *served) close() {
	s.t.Helper()
	require.NoError(s.t, s.session.Close())
	require.Zero(s.t, s.cmd.ProcessState.ExitCode(), s.logs.String())
}

// says has the model answer the next requests.
func (s *served) says(replies ...string) {
	go func() {
		for _, r := range replies {
			<-s.model.asked
			s.model.replies <- r
		}
	}()
}

// call calls an agent.
func (s *served) call(ctx context.Context, agent string, arguments map[string]any) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: agent, Arguments: arguments}
	params.SetProgressToken("p")
	return s.session.CallTool(ctx, params)
}

// textOfCall returns the text of a result.
func textOfCall(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// the versions of the protocol: one with sessions, and one in which the server asks by results.
var servedVersions = []string{"2025-11-25", "2026-07-28"}

// Agents are tools; a call is a run, which is kept, with progress and a structured result.
func TestMCPServe_calls(t *testing.T) {
	t.Parallel()
	for _, version := range servedVersions {
		s := serveAgents(t, version, nil)
		list, err := s.session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Tools, 1)
		require.Equal(t, "helper", list.Tools[0].Name)
		require.Equal(t, "Helps with everything.", list.Tools[0].Description)

		s.says(isDone)
		res, err := s.call(t.Context(), "helper", map[string]any{"task": "Say it", "data": map[string]any{"n": 1}})
		require.NoError(t, err)
		require.False(t, res.IsError, textOfCall(res))
		answer, _ := res.StructuredContent.(map[string]any)
		require.Equal(t, "done", answer["status"])
		require.Equal(t, textOfCall(res), answer["answer"])
		require.NotEmpty(t, textOfCall(res))

		const noTask = "the argument task must be a text that says what the agent is to do"
		for _, wrong := range []struct {
			given map[string]any
			said  string
		}{
			{map[string]any{"task": ""}, noTask},
			{map[string]any{"task": " \n"}, noTask},
			{map[string]any{}, noTask},
			{map[string]any{"task": 1}, noTask},
			{map[string]any{"task": "x", "zzz": 1}, `there is no argument "zzz": the arguments are task and data`},
			{map[string]any{"Task": "x"}, `there is no argument "Task": the arguments are task and data`},
		} {
			res, err := s.call(t.Context(), "helper", wrong.given)
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Equal(t, wrong.said, textOfCall(res))
		}
		s.close()
		s.mu.Lock()
		require.Contains(t, s.progress, "agent helper begins")
		s.mu.Unlock()
		require.Contains(t, s.logs.String(), "serving the agents helper")
		out, err := exec.CommandContext(t.Context(), "segue", "runs", "--store", filepath.Join(s.dir, "runs.db"), "--output", "json").Output()
		require.NoError(t, err)
		require.Contains(t, string(out), answer["run"])
		require.Contains(t, string(out), `"agent":"helper"`)
	}
}

// An approval and a question go to the person at the client; nothing but a clear yes approves.
func TestMCPServe_asks(t *testing.T) {
	t.Parallel()
	for _, version := range servedVersions {
		yes := true
		s := serveAgents(t, version, func(p *mcp.ElicitParams) *mcp.ElicitResult {
			if strings.Contains(p.Message, "write_file") {
				approve := yes && strings.Contains(p.Message, "path: a") || strings.Contains(p.Message, `"a"`)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": approve, "reason": "I like a."}}
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "well enough"}}
		})
		s.says(wantsToWrite, isDone)
		res, err := s.call(t.Context(), "helper", map[string]any{"task": "Write"})
		require.NoError(t, err)
		require.False(t, res.IsError, textOfCall(res))
		require.Len(t, s.asked, 2)
		require.Contains(t, s.asked[0], "write_file needs your approval")
		_, err = os.Stat(filepath.Join(s.dir, "b"))
		require.ErrorIs(t, err, os.ErrNotExist)
		require.FileExists(t, filepath.Join(s.dir, "a"))

		s.asked = nil
		s.says(wantsToKnow, isDone)
		res, err = s.call(t.Context(), "helper", map[string]any{"task": "Ask"})
		require.NoError(t, err)
		require.False(t, res.IsError, textOfCall(res))
		require.ElementsMatch(t, []string{"Well?", "Sure?"}, s.asked)
		s.close()
	}
}

// The settings of a profile hold for all calls, and its agent is not offered: --agent says that.
func TestMCPServe_profile(t *testing.T) {
	t.Parallel()
	s := serveAgents(t, servedVersions[0], func(*mcp.ElicitParams) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}
	}, "--profile", "careful")
	list, err := s.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 1)
	require.Equal(t, "helper", list.Tools[0].Name)
	s.says(wantsToWrite, isDone)
	res, err := s.call(t.Context(), "helper", map[string]any{"task": "Write"})
	require.NoError(t, err)
	require.False(t, res.IsError, textOfCall(res))
	require.Empty(t, s.asked)
	require.NoFileExists(t, filepath.Join(s.dir, "a"))
	s.close()
}

// Where the client does not know elicitation, and where the person does not say yes, a call is
// refused.
func TestMCPServe_refuses(t *testing.T) {
	t.Parallel()
	for _, version := range servedVersions {
		for name, elicit := range map[string]func(*mcp.ElicitParams) *mcp.ElicitResult{
			"no elicitation": nil,
			"declined":       func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} },
			"cancelled":      func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "cancel"} },
		} {
			s := serveAgents(t, version, elicit)
			s.says(wantsToWrite, isDone)
			res, err := s.call(t.Context(), "helper", map[string]any{"task": "Write"})
			require.NoError(t, err, name)
			require.False(t, res.IsError, textOfCall(res))
			for _, file := range []string{"a", "b"} {
				_, err = os.Stat(filepath.Join(s.dir, file))
				require.ErrorIs(t, err, os.ErrNotExist, name)
			}
			s.close()
		}
	}
}

// A run that fails is a failed call with its id; one whose call is cancelled is interrupted.
func TestMCPServe_ends(t *testing.T) {
	t.Parallel()
	s := serveAgents(t, "", nil, "--max-steps", "1")
	s.says(wantsToWrite)
	res, err := s.call(t.Context(), "helper", map[string]any{"task": "Write"})
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Regexp(t, `^run \S+ did not end well: .*see it with|^run \S+ did not end well: `, textOfCall(res))
	require.Contains(t, textOfCall(res), "segue show")

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.model.asked
		cancel()
	}()
	_, err = s.call(ctx, "helper", map[string]any{"task": "Wait"})
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool {
		out, err := exec.CommandContext(t.Context(), "segue", "runs", "--store", filepath.Join(s.dir, "runs.db"), "--output", "json").Output()
		return err == nil && strings.Contains(string(out), `"status":"interrupted"`)
	}, time.Minute, 100*time.Millisecond)
	s.close()
}

// A client hears of a run that is at work every few seconds, whatever the run does meanwhile.
func TestMCPServe_silence(t *testing.T) {
	t.Parallel()
	for _, version := range servedVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := serveAgents(t, version, nil)
			go func() {
				<-s.model.asked
				time.Sleep(3 * silence) // the server of the model is silent
				s.model.replies <- isDone
			}()
			res, err := s.call(t.Context(), "helper", map[string]any{"task": "Say it"})
			require.NoError(t, err)
			require.False(t, res.IsError, textOfCall(res))
			s.close()
			s.mu.Lock()
			alive := 0
			for _, text := range s.progress {
				if strings.HasSuffix(text, " so far)") {
					alive++
				}
			}
			require.GreaterOrEqual(t, alive, 2, s.progress)
			s.mu.Unlock()
		})
	}
}

// An agent that can make no run as it is served is refused at the start, offered by name or not.
func TestMCPServe_withoutFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agents.yaml"), []byte(servedConfig), 0o600))
	for _, args := range [][]string{nil, {"--agent", "helper"}} {
		cmd := exec.CommandContext(t.Context(), "segue", append([]string{"mcp", "serve", "--config", "agents.yaml", "--store", "none"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "agent helper: it uses write_file: name the folder with --dir")
		require.Equal(t, cli.ExitUsage, cmd.ProcessState.ExitCode())
	}
}

// Segue uses segue: the agents of one are the tools of another.
func TestMCPServe_self(t *testing.T) {
	t.Parallel()
	dir, model := t.TempDir(), newSlowModel(t)
	path := filepath.Join(dir, "agents.yaml")
	require.NoError(t, os.WriteFile(path, []byte(servedConfig), 0o600))
	self, err := exec.LookPath("segue")
	require.NoError(t, err)
	set, err := mcptools.Connect(t.Context(), mcptools.Config{
		Name: "segue", Command: []string{self, "mcp", "serve", "--config", path, "--base-url", model.URL, "--store", "none", "--agent", "hidden"}, Prefix: "my_",
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, set.Close()) }()
	all := set.Tools()
	require.Len(t, all, 1)
	require.Equal(t, "my_hidden", all[0].Definition().Name)
	heard := make(chan string, 100)
	go func() {
		<-model.asked
		<-heard // what is told while a call is in progress comes beside its result, not before it
		model.replies <- isDone
	}()
	out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{
		Tool: all[0], Call: messages.ToolCall{ID: "1", Name: "my_hidden", Arguments: `{"task":"Say it"}`},
		Progress: func(text string) { heard <- text },
	})
	require.True(t, out.OK(), out.Output)
	require.True(t, json.Valid([]byte(all[0].Definition().Parameters)))
}
