package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// A run of an agent of a file asks a person, is answered through the store, as segue answer does
// it, and ends.
func TestRun(t *testing.T) {
	address, model := server(t), httptest.NewServer(http.HandlerFunc(complete))
	defer model.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "segue.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "models:\n  m: {base_url: %s, model: m, api_key_env: KEY}\nagents:\n  helper: {}\nstore: {path: runs.db}\n", model.URL), 0o600))
	t.Setenv("KEY", "none")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	args := []string{"--config", file, "--address", address}
	worker, stop := context.WithCancel(ctx)
	go func() { done <- run(worker, args, io.Discard, io.Discard) }()
	var out bytes.Buffer
	require.NoError(t, run(ctx, append(args, "which", "city?"), &out, io.Discard))
	key := checkpoint.Key{Run: strings.TrimSpace(out.String())}
	store, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: filepath.Join(dir, "runs.db")})
	require.NoError(t, err)
	defer func() { _ = store.Close() }()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(), Store: store, Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	var head checkpoint.Head
	is := func(status checkpoint.Status) func() bool {
		return func() bool {
			head, err = store.Head(ctx, key)
			return err == nil && head.Header.Status == status
		}
	}
	require.Eventually(t, is(checkpoint.StatusWaiting), time.Minute, 50*time.Millisecond)
	require.NoError(t, o.Answer(ctx, key, machine.Reply{WaitID: head.Header.Waits[0].ID, Text: "Oslo"}))
	require.Eventually(t, is(checkpoint.StatusDone), time.Minute, 50*time.Millisecond)
	stop()
	require.NoError(t, waittest.Receive(t, done))
}

// complete is a model that asks the user, and says the answer.
func complete(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	message := map[string]any{"role": "assistant", "content": "It is Oslo."}
	if !bytes.Contains(text, []byte("Oslo")) {
		message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"id": "c1", "type": "function", "function": map[string]any{"name": "ask_user", "arguments": `{"question":"which city?"}`},
		}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "model": "m", "choices": []any{map[string]any{"index": 0, "message": message}}})
}

// server returns the address of a Temporal server.
func server(t *testing.T) string {
	t.Helper()
	if address := os.Getenv("TEMPORAL_ADDRESS"); address != "" {
		return address
	}
	bin := os.Getenv("SEGUE_TEST_TEMPORAL")
	if bin == "" {
		t.Skip("the command temporal is missing: make temporal-test installs it, or SEGUE_TEST_TEMPORAL names it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	require.NoError(t, l.Close())
	cmd := exec.Command(bin, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "error")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := client.Dial(client.Options{HostPort: address})
		if err == nil {
			c.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	return address
}
