package mcptools_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

// call calls a tool outside of any run.
func call(ctx context.Context, tool tools.Tool, arguments string) messages.ToolOutput {
	return toolrun.Runner{}.Run(ctx, toolrun.Job{Call: messages.ToolCall{ID: "1", Name: tool.Definition().Name, Arguments: arguments}, Tool: tool, Key: "r/1/1"})
}

// A server gets the variables that it was given, and none of the keys of this process.
func TestConnect_environment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-this-process")
	t.Setenv("GITHUB_TOKEN", "ghp-of-this-process")
	cfg := stdio("server")(t, t.TempDir())
	cfg.Env = append(cfg.Env, "GITHUB_TOKEN", "ABSENT_HERE", "MODE=test=1")
	out := call(t.Context(), named(t, connect(t, cfg), "env"), "")
	require.True(t, out.OK(), out.Output)
	require.NotContains(t, out.Output, "sk-of-this-process")
	require.NotContains(t, out.Output, "ABSENT_HERE")
	require.Contains(t, out.Output, "GITHUB_TOKEN=[redacted]\n")
	require.Contains(t, out.Output+"\n", "MODE=test=1\n")
	require.Contains(t, out.Output, "PATH=")
}

// A command that ends at once says why, without the keys that it was given.
func TestConnect_startsAndEnds(t *testing.T) {
	cfg := stdio("broken")(t, t.TempDir())
	cfg.Env = append(cfg.Env, "DATABASE_KEY=hunter2hunter2")
	_, err := mcptools.Connect(t.Context(), cfg)
	var failed *mcptools.ServerError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "test", failed.Server)
	require.Contains(t, err.Error(), "no database at [redacted]")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestConnect_fails(t *testing.T) {
	for want, cfg := range map[string]mcptools.Config{
		"needs a Command or a URL":            {Name: "x"},
		"has both a Command and a URL":        {Command: []string{"a"}, URL: "http://localhost"},
		"is not an http or https address":     {URL: "ftp://localhost"},
		"the program of its Command is":       {Command: []string{""}},
		`its Prefix "a b" is not`:             {Command: []string{"a"}, Prefix: "a b"},
		"executable file not found":           {Command: []string{"no-such-program-of-ours"}},
		"its Dir is not there":                {Command: []string{os.Args[0]}, Dir: filepath.Join(t.TempDir(), "none")},
		"nothing answers":                     {URL: "http://127.0.0.1:1"},
		"it did not answer within 100ms":      mute(t),
		`the server "no-such-program-of-ours`: {Command: []string{"no-such-program-of-ours"}},
	} {
		_, err := mcptools.Connect(t.Context(), cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "deadline exceeded", "the time-out is named once")
		require.NotContains(t, err.Error(), "calling \"initialize\"", "what the library did is not the user's concern")
	}
}

func mute(t *testing.T) mcptools.Config {
	t.Helper()
	cfg := stdio("mute")(t, t.TempDir())
	cfg.ConnectTimeout = 100 * time.Millisecond
	return cfg
}

// alive reports whether a process with the number in a file lives.
func alive(t *testing.T, file string) bool {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(data))
	require.NoError(t, err)
	return processLives(pid)
}

// A server that heeds neither the end of its input nor SIGTERM is killed with its children: when
// the toolset is closed, and when the context ends.
func TestClose_stubbornServer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *mcptools.Toolset, cancel context.CancelFunc){
		"closed":  func(s *mcptools.Toolset, _ context.CancelFunc) { _ = s.Close() },
		"context": func(_ *mcptools.Toolset, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := mcptools.Connect(ctx, stdio("stubborn")(t, dir))
			require.NoError(t, err)
			child := filepath.Join(dir, "child")
			require.Eventually(t, func() bool { return len(linesOf(dir, "child")) == 1 }, time.Minute, 10*time.Millisecond)
			require.True(t, alive(t, child))
			end(s, cancel)
			require.Eventually(t, func() bool { return !alive(t, child) }, time.Minute, 10*time.Millisecond)
			require.NoError(t, s.Close())
			out := call(t.Context(), named(t, s, "echo"), `{"text":"a"}`)
			require.Equal(t, tools.ReasonError, out.Reason)
			require.Contains(t, out.Output, `the server "test": cannot connect: the toolset is closed`)
		})
	}
}

// A call whose server dies has a result that says so, and not that it failed: nobody knows what it
// did. The next call finds the server started again.
func TestCall_serverDies(t *testing.T) {
	t.Parallel()
	s := connect(t, stdio("server")(t, t.TempDir()))
	out := call(t.Context(), named(t, s, "exit"), "")
	require.Equal(t, messages.StatusUnknown, out.Status)
	require.Contains(t, out.Output, `mcptools: the server "test": cannot call exit: the connection broke off`)
	require.Contains(t, out.Output, "whether the call had its effect is unknown")
	out = call(t.Context(), named(t, s, "echo"), `{"text":"again"}`)
	require.Equal(t, "again", out.Output)
}

// A server that dies again and again is not started at every call: the pauses grow, and a call in a
// long one is not made.
func TestCall_serverDiesAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := connect(t, stdio("server")(t, t.TempDir()))
	for range 10 {
		if out := call(t.Context(), named(t, s, "exit"), ""); strings.Contains(out.Output, "the next attempt is possible in") {
			require.Equal(t, messages.StatusFailed, out.Status, "it was not called")
			return
		}
	}
	require.FailNow(t, "it was started each time")
}

// A server over HTTP that is away fails calls without an effect, and is called again when it is
// back, also if it has forgotten the session.
func TestCall_serverRestarts(t *testing.T) {
	for _, sessions := range []bool{false, true} {
		dir := t.TempDir()
		var current atomic.Pointer[http.Handler]
		start := func() {
			server := newServer(dir)
			var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: !sessions})
			current.Store(&h)
			t.Cleanup(func() {
				for session := range server.Sessions() {
					_ = session.Close()
				}
			})
		}
		start()
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
		s := connect(t, mcptools.Config{Name: "test", URL: front.URL})
		require.Equal(t, "one", call(t.Context(), named(t, s, "echo"), `{"text":"one"}`).Output)
		start() // it has forgotten all sessions
		out := call(t.Context(), named(t, s, "echo"), `{"text":"two"}`)
		require.Equal(t, "two", out.Output)

		front.CloseClientConnections()
		front.Close()
		_ = call(t.Context(), named(t, s, "echo"), `{"text":"three"}`) // may find a connection that is dead
		out = call(t.Context(), named(t, s, "pay"), `{"amount":1}`)
		require.Equal(t, tools.ReasonError, out.Reason)
		require.Equal(t, messages.StatusFailed, out.Status, out.Output)
		require.Contains(t, out.Output, "nothing answers at its address")
		require.NoError(t, s.Close())
	}
}

// An address at which something else answers is named as such, without the errors of the library.
func TestConnect_noServer(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		`cannot connect: it answered with text/html, so it is no MCP server; look at its URL`: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>hello</html>")
		},
		`cannot connect: it answered with the status 404 Not Found; look at its URL`: http.NotFound,
		`cannot connect: it answered with the status 401 Unauthorized; look at the keys in its Headers`: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
		},
		`cannot connect: it answered with the status 502 Bad Gateway`: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		},
		`cannot connect: it answered with JSON that is not MCP; look at its URL`: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"error":"no such page"}`)
		},
	} {
		server := httptest.NewServer(answer)
		_, err := mcptools.Connect(t.Context(), mcptools.Config{Name: "far", URL: server.URL + "/mcp", ConnectTimeout: 5 * time.Second})
		server.Close()
		require.EqualError(t, err, `mcptools: the server "far": `+want)
	}
	const sse = "; it may speak the old transport SSE, which is not supported: give the URL for streamable HTTP, which often ends with /mcp"
	events := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" || r.Method != http.MethodGet {
			http.Error(w, "no", map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusNotFound}[r.URL.Path == "/events"])
		}
	})
	for path, want := range map[string]string{"/events": "405 Method Not Allowed" + sse, "/a/sse": "404 Not Found" + sse, "/a": "404 Not Found; look at its URL"} {
		server := httptest.NewServer(events)
		_, err := mcptools.Connect(t.Context(), mcptools.Config{Name: "far", URL: server.URL + path, ConnectTimeout: 5 * time.Second})
		server.Close()
		require.EqualError(t, err, `mcptools: the server "far": cannot connect: it answered with the status `+want)
	}
}

// Headers go to the server of the URL, and not to where it sends its clients.
func TestConnect_headers(t *testing.T) {
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer other.Close()
	var had atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		had.Store(r.Header.Get("Authorization") == "Bearer s3cret-key")
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	_, err := mcptools.Connect(t.Context(), mcptools.Config{URL: front.URL, Headers: map[string]string{"Authorization": "Bearer s3cret-key"}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret-key")
	require.True(t, had.Load())
	require.False(t, leaked.Load())
}

// What the command writes on its standard error is kept to a bound, without keys.
func TestStderr(t *testing.T) {
	cfg := stdio("server")(t, t.TempDir())
	s := connect(t, cfg)
	require.Empty(t, s.Stderr())
}

// A call in progress ends when the toolset is closed.
func TestClose_duringACall(t *testing.T) {
	t.Parallel()
	for _, c := range transports() {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := connect(t, c.config(t, dir))
			tool := named(t, s, "wait")
			done := make(chan messages.ToolOutput, 1)
			go func() { done <- call(context.Background(), tool, "") }()
			require.Eventually(t, func() bool { return len(lines(t, dir, "wait")) > 0 }, time.Minute, 10*time.Millisecond)
			require.NoError(t, s.Close())
			out := waittest.Receive(t, done)
			require.Equal(t, messages.StatusUnknown, out.Status)
			require.Contains(t, out.Output, "the toolset is closed")
		})
	}
}

// A key that a server prints in a result does not reach the model; other values that it was given
// do, because the model may need them for its next call.
func TestCall_printsItsKey(t *testing.T) {
	cfg := stdio("server")(t, t.TempDir())
	cfg.Env = append(cfg.Env, "OUR_API_TOKEN=s3cret-of-ours", "OUR_PROJECT=berlin-harbour", "OUR_KEY_COUNT=12")
	s := connect(t, cfg)
	out := call(t.Context(), named(t, s, "env"), "")
	require.Contains(t, out.Output, "OUR_API_TOKEN=[redacted]")
	require.NotContains(t, out.Output, "s3cret")
	require.Contains(t, out.Output, "OUR_PROJECT=berlin-harbour")
	require.Contains(t, out.Output, "OUR_KEY_COUNT=12")
	out = call(t.Context(), named(t, s, "fail"), `{"text":"s3cret-of-ours"}`)
	require.Equal(t, messages.StatusFailed, out.Status)
	require.NotContains(t, out.Output, "s3cret")
}

// A call has a time-out of ours.
func TestCall_timeout(t *testing.T) {
	dir := t.TempDir()
	cfg := stdio("server")(t, dir)
	cfg.CallTimeout = 200 * time.Millisecond
	s := connect(t, cfg)
	out := call(t.Context(), named(t, s, "wait"), "")
	require.Equal(t, tools.ReasonTimeout, out.Reason)
	require.Contains(t, out.Output, `the server "test" did not answer within 200ms`)
	require.Equal(t, messages.StatusUnknown, out.Status)
	require.Eventually(t, func() bool { return len(lines(t, dir, "wait")) == 2 }, time.Minute, 10*time.Millisecond, "the server is told")
}
