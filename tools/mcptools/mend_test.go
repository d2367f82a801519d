package mcptools_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools/mcptools"
)

// raw connects to the hostile server in a mode, over a transport.
func raw(t *testing.T, mode, transport string, change ...func(*mcptools.Config)) *mcptools.Toolset {
	t.Helper()
	if transport == "stdio" {
		return connectHostile(t, mode, change...)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name   string
				Cursor *string
			}
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
			return
		}
		var said bytes.Buffer
		h := &hostile{mode: mode, out: bufio.NewWriter(&said), left: -1, id: m.ID}
		h.answer(m.Method, m.Params.Name, m.Params.Cursor)
		h.flush()
		if transport == "http" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.Copy(w, &said)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\nevent: message\ndata: "+strings.TrimSpace(said.String())+"\n\n")
	}))
	t.Cleanup(server.Close)
	cfg := mcptools.Config{Name: "hostile", URL: server.URL}
	for _, f := range change {
		f(&cfg)
	}
	return connect(t, cfg)
}

func eachTransport(t *testing.T, f func(t *testing.T, transport string)) {
	for _, transport := range []string{"stdio", "http", "event stream"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			f(t, transport)
		})
	}
}

// locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Lines on standard output that are no messages, such as those of a logger, are logged and skipped.
func TestMend_noise(t *testing.T) {
	t.Parallel()
	log := new(locked)
	set := connectHostile(t, "noise", func(c *mcptools.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	for range 3 {
		require.Equal(t, "ok", callNamed(t, set, "echo", "{}").Output)
	}
	require.Contains(t, set.Stderr(), "Notes MCP server running on stdio\n")
	require.Contains(t, set.Stderr(), "[debug] got tools/call\n"+`{"level":30,"msg":"got it"}`+"\n42\n[1]\n")
	require.Contains(t, log.String(), `line="Notes MCP server running on stdio"`)
}

// A command that is no server says on standard output why not.
func TestMend_noServer(t *testing.T) {
	_, err := mcptools.Connect(t.Context(), mcptools.Config{Command: []string{"echo", "usage: notes SUBCOMMAND"}})
	require.ErrorContains(t, err, "it closed the connection; it wrote last: usage: notes SUBCOMMAND")
}

// What cannot be read in a result spoils that part, or that result, and not the connection.
func TestMend_results(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, transport string) {
		set := raw(t, "unread", transport)
		for name, want := range map[string]string{
			"hologram": "[left out: a part of the kind \"hologram\" that cannot be read]\nafter",
			"null":     "before\n[left out: a part of the kind \"\" that cannot be read]",
			"picture":  "[left out: a part of the kind \"image\" that cannot be read]\na picture\n{\"n\":1}",
			"text":     "whole",
		} {
			out := callNamed(t, set, name, "{}")
			require.True(t, out.OK(), out.Output)
			require.Equal(t, want, out.Output)
		}
		for _, name := range []string{"flag", "list", "echo"} {
			out := callNamed(t, set, name, "{}")
			require.Equal(t, messages.StatusFailed, out.Status, name)
			require.Contains(t, out.Output, "mcptools: the server made the call, and its result cannot be read")
		}
	})
}

// A tool of which each call must be a task is left out; one of which a call may be one is not.
func TestMend_tasks(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, transport string) {
		var why []string
		for _, o := range raw(t, "tasks", transport).Listing().Offers {
			why = append(why, o.LeftOut)
		}
		require.Equal(t, []string{"", "each call of it is a task, and tasks are not supported", ""}, why)
	})
}

// Since protocol 2026-07-28 the cursor "" is one like others; before, and from a server that has
// the same page there, it is the end.
func TestMend_emptyCursor(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, transport string) {
		older := func(c *mcptools.Config) { c.Protocol = "2025-11-25" }
		names := func(set *mcptools.Toolset) (all []string) {
			for _, o := range set.Listing().Offers {
				all = append(all, o.Name)
			}
			require.False(t, set.Listing().More)
			return all
		}
		require.Equal(t, []string{"echo", "second"}, names(raw(t, "cursor-empty", transport)))
		require.Equal(t, []string{"echo"}, names(raw(t, "cursor-empty", transport, older)))
		require.Equal(t, []string{"echo"}, names(raw(t, "cursor-end", transport)))
	})
}
