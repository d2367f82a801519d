//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/tools"
)

// TestInterrupt sends a signal to a segue that waits for its model, and keeps nothing.
func TestInterrupt(t *testing.T) {
	for name, tt := range map[string]struct {
		signal os.Signal
		told   string
		code   int
		why    string
	}{
		"Ctrl-C":     {os.Interrupt, "segue: stopping; press Ctrl-C again to end at once", cli.ExitInterrupted, "segue: the run was stopped: interrupted\n"},
		"terminated": {syscall.SIGTERM, "segue: stopping; press Ctrl-C again to end at once", cli.ExitTerminated, "segue: the run was stopped: terminated\n"},
		"hung up":    {syscall.SIGHUP, "", cli.ExitHungUp, "segue: hung up\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newSlowModel(t)
			cmd, stdout, stderr := interruptible(t, "run", "--store", "none", "--base-url", model.URL, "--json", "task")
			waittest.Receive(t, model.asked)
			require.NoError(t, cmd.Process.Signal(tt.signal))
			if tt.told != "" {
				await(t, stderr, tt.told)
			}
			rest, err := io.ReadAll(stderr)
			require.NoError(t, err)
			require.Equal(t, tt.code, codeOf(t, waittest.Exit(t, cmd)), string(rest))
			require.Contains(t, string(rest), tt.why)
			var got struct{ Status string }
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
			require.Equal(t, "stopped", got.Status)
			require.Empty(t, model.asked, "nothing more was asked")
		})
	}
}

// interruptible starts a segue.
func interruptible(t *testing.T, args ...string) (cmd *exec.Cmd, stdout *bytes.Buffer, stderr *bufio.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), "segue", args...)
	cmd.Env = append(os.Environ(), "GORACE="+noSleep, "XDG_STATE_HOME="+t.TempDir())
	stdout = &bytes.Buffer{}
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, stdout, bufio.NewReader(pipe)
}

// TestInterrupt_retry presses Ctrl-C during a wait of two minutes between two tries: there is no
// second try, whether or not the run is kept.
func TestInterrupt_retry(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	for _, store := range []string{"none", filepath.Join(t.TempDir(), "runs.db")} {
		cmd, _, stderr := interruptible(t, "run", "--store", store, "--base-url", s.URL+"/v1", "--model", "m", "task")
		await(t, stderr, "[0 #1] retry after attempt 1 in 2m0s: the rate limit of the server was reached (status 429, model m): Too Many Requests")
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		rest, err := io.ReadAll(stderr)
		require.NoError(t, err)
		require.Equal(t, cli.ExitInterrupted, codeOf(t, waittest.Exit(t, cmd)), string(rest))
		require.EqualValues(t, 1, asked.Swap(0), "it has waited, and tried again")
	}
}

// TestInterrupt_twice presses Ctrl-C while nobody reads the output, which therefore does not end:
// the second one ends the process, and the run goes on all the same.
func TestInterrupt_twice(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	cmd := exec.CommandContext(t.Context(), "segue", "run", "--base-url", k.model.URL, "--dir", k.dir, "--json", "task "+strings.Repeat("x", 100_000))
	cmd.Env = append(os.Environ(), "GORACE="+noSleep, "XDG_STATE_HOME="+k.home)
	unread, err := cmd.StdoutPipe()
	require.NoError(t, err)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stderr := bufio.NewReader(pipe)
	waittest.Receive(t, k.model.asked)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	await(t, stderr, "segue: interrupting the run; press Ctrl-C again to end at once; either way it goes on with: segue resume")
	_, err = io.ReadFull(unread, make([]byte, 10)) // it writes the output
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP)) // one more of these changes nothing
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, stderr)
	end, ok := errors.AsType[*exec.ExitError](waittest.Exit(t, cmd))
	require.True(t, ok)
	require.Equal(t, syscall.SIGINT, end.Sys().(syscall.WaitStatus).Signal())
	again, out, stderr := k.command("resume", "--take-over")
	waittest.Receive(t, k.model.asked)
	k.model.replies <- answersAll
	k.ends(again, stderr, cli.ExitDone)
	require.Equal(t, "All done.\n", out.String())
}

// TestInterrupt_asked presses Ctrl-C while somebody is asked and a tool runs: it ends both.
func TestInterrupt_asked(t *testing.T) {
	started := make(chan struct{})
	slow := tools.New(tools.Definition{Name: "slow", ReadOnly: true}, func(ctx context.Context, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	})
	s := begin(t, approve.Ask, []tools.Tool{slow}, scripted.Calls(
		scripted.Call("slow", "{}", "c1"),
		scripted.Call("ask_user", `{"question":"Well?"}`, "c2"),
		scripted.Call("ask_user", `{"question":"Sure?"}`, "c3")))
	waittest.Receive(t, started)
	s.Await(yourTurn)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	require.Equal(t, cli.ExitInterrupted, s.end())
	s.AwaitAll("\nsegue: stopping; press Ctrl-C again to end at once\n", "slow failed (interrupted)")
	require.NotContains(t, s.Rest(), yourTurn, "nothing more was asked")
}

// halfAnswer is a server that begins an answer and never ends it.
func halfAnswer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"The quick ", "brown"} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", piece)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// await reads lines until one is want.
func await(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err, "waiting for %q", want)
		if strings.TrimSuffix(line, "\n") == want {
			return
		}
	}
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok, "%v", err)
	return exit.ExitCode()
}
