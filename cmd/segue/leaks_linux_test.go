package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools/mcptools"
)

// held is what a process holds.
type held struct {
	goroutines, descriptors int
	bytes                   uint64 // of the heap, in use
}

func holds(t *testing.T) held {
	t.Helper()
	runtime.GC()
	runtime.GC() // frees what the first one found
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return held{goroutines: runtime.NumGoroutine(), descriptors: len(open), bytes: m.HeapAlloc}
}

// echoing is a model that calls echo, and answers with the result.
func echoing(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Role, Content string }
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta := `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"echo","arguments":"{\"text\":\"hi\"}"}}]}`
		if last := asked.Messages[len(asked.Messages)-1]; last.Role == "tool" {
			delta = fmt.Sprintf(`{"content":%q}`, last.Content)
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// TestLeaks makes a thousand runs, four at a time and every fourth cut off, with all that holds
// something: a model over HTTP, an MCP server, a store. Then the process holds what it held before
// them, and no more memory than after the first hundred.
func TestLeaks(t *testing.T) {
	model := echoing(t)
	store, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Synchronous: sqlitestore.Normal})
	require.NoError(t, err)
	defer store.Close()
	served, err := mcptools.Connect(t.Context(), mcptools.Config{Command: []string{"mcp-test-server"}, Dir: t.TempDir(), TrustHints: true})
	require.NoError(t, err)
	defer served.Close()
	connections := &http.Transport{}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     openaichat.MustNew(openaichat.Config{Model: "m", BaseURL: model.URL + "/v1", APIKey: "none", NoEnvironment: true, HTTPClient: &http.Client{Transport: connections}}),
		Strategies: builtin.All(), Default: "complete-task", Tools: served.Tools(), Store: store,
	})
	require.NoError(t, err)
	runs := func(n int) {
		var all errgroup.Group
		all.SetLimit(4)
		for i := range n {
			all.Go(func() error {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for e, err := range o.Stream(ctx, orchestrator.Task{Input: delegation.Input{Goal: "Say hi."}}) {
					if _, is := e.Detail.(machine.ToolStarted); is && i%4 == 0 {
						cancel()
					}
					if err != nil && i%4 != 0 {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
		connections.CloseIdleConnections()
	}
	settle := func(most held) held {
		for tries := 0; ; tries++ {
			now := holds(t)
			if now.goroutines <= most.goroutines && now.descriptors <= most.descriptors {
				return now
			}
			require.Less(t, tries, 10_000, "at most %+v, and it holds %+v", most, now)
			runtime.Gosched()
		}
	}
	most := holds(t)
	most.descriptors += 8 // the store opens its file for each reader at a time
	runs(100)
	before := settle(most)
	runs(1000)
	after := settle(most)
	require.Less(t, int64(after.bytes)-int64(before.bytes), int64(256<<10), "of 1,000 runs")
}

// TestLeaks_process ends a segue that asks its model and has an MCP server: nothing is left of it
// but its run.
func TestLeaks_process(t *testing.T) {
	k := newKeptRun(t)
	temporary := t.TempDir()
	config := "mcp: {files: {command: [mcp-test-server], dir: " + k.dir + ", trust_hints: true}}\nagents: {helper: {mcp: [files], tools: []}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "segue.yaml"), []byte(config), 0o600))
	t.Setenv("TMPDIR", temporary)
	cmd, _, stderr := k.command("run", "--config", filepath.Join(k.dir, "segue.yaml"), "--approve", "always", "--base-url", k.model.URL, "task")
	waittest.Receive(t, k.model.asked)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	k.ends(cmd, stderr, cli.ExitTerminated) // another code would say that a goroutine was left
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
	kept, err := os.ReadDir(filepath.Join(k.home, "segue"))
	require.NoError(t, err)
	require.Len(t, kept, 1, "%v", kept)
	server, err := strconv.Atoi(mustRead(t, filepath.Join(k.dir, "mcp.pid")))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(server, 0), syscall.ESRCH)
}
