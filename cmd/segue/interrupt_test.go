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
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/tools"
)

// TestInterrupt sends signals to a segue that waits for its model, and keeps nothing.
func TestInterrupt(t *testing.T) {
	const (
		call   = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"list_files","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
		answer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`
		soon   = "segue: stopping after this step; press Ctrl-C again to stop now"
		now    = "segue: stopping now"
	)
	for name, tt := range map[string]struct {
		signals []os.Signal
		told    []string // after each signal
		reply   string   // that the model gives in the end; "" for none
		code    int
		status  string
		roles   string // of the messages that are left
		why     string
	}{
		"once: the step is finished, no other begins": {
			signals: []os.Signal{os.Interrupt}, told: []string{soon}, reply: call,
			code: exitInterrupted, status: "stopped", roles: "user assistant tool assistant", why: "segue: machine: the run was stopped: stop was asked for",
		},
		"once: the step was the last": {
			signals: []os.Signal{os.Interrupt}, told: []string{soon}, reply: answer,
			code: exitDone, status: "done", roles: "user assistant",
		},
		"twice: at once": {
			signals: []os.Signal{os.Interrupt, os.Interrupt}, told: []string{soon, now},
			code: exitInterrupted, status: "stopped", roles: "user", why: "segue: machine: the run was stopped: interrupted",
		},
		"terminated: at once": {
			signals: []os.Signal{syscall.SIGTERM}, told: []string{now},
			code: exitInterrupted, status: "stopped", roles: "user", why: "segue: machine: the run was stopped: interrupted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newSlowModel(t)
			cmd := exec.CommandContext(t.Context(), "segue", "run", "--store", "none", "--base-url", model.URL, "--dir", t.TempDir(), "--json", "task")
			cmd.Env = append(os.Environ(), "GORACE="+noSleep)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			pipe, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			stderr := bufio.NewReader(pipe)
			<-model.asked
			for i, s := range tt.signals {
				require.NoError(t, cmd.Process.Signal(s))
				await(t, stderr, tt.told[i])
			}
			if tt.reply != "" {
				model.replies <- tt.reply
			}
			rest, err := io.ReadAll(stderr)
			require.NoError(t, err)
			require.Equal(t, tt.code, codeOf(t, cmd.Wait()), string(rest))
			require.Contains(t, string(rest), tt.why)

			var got struct {
				Status   string
				Messages struct{ Messages []struct{ Role string } }
			}
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
			require.Equal(t, tt.status, got.Status)
			var roles []string
			for _, m := range got.Messages.Messages {
				roles = append(roles, m.Role)
			}
			require.Equal(t, tt.roles, strings.Join(roles, " "))
			require.Empty(t, model.asked, "nothing more was asked")
		})
	}
}

// TestInterrupt_asked presses Ctrl-C twice while somebody is asked and a tool runs: the first ends
// what is asked, the second the tool.
func TestInterrupt_asked(t *testing.T) {
	started := make(chan struct{})
	slow := tools.New(tools.Definition{Name: "slow", ReadOnly: true}, func(ctx context.Context, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	})
	s := begin(t, config.ApproveAsk, []tools.Tool{slow}, scripted.Calls(
		scripted.Call("slow", "{}", "c1"),
		scripted.Call("ask_user", `{"question":"Well?"}`, "c2"),
		scripted.Call("ask_user", `{"question":"Sure?"}`, "c3")))
	<-started
	s.Await(yourTurn)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	s.AwaitAll("\nsegue: stopping after this step; press Ctrl-C again to stop now\n", "ask_user failed ")
	s.Await("ask_user failed ")
	require.Empty(t, s.ended)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	require.Equal(t, exitInterrupted, s.end())
	s.AwaitAll("\nsegue: stopping now\n", "slow failed (interrupted)", yourTurn)
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

// slowModel is a server that takes its time.
type slowModel struct {
	*httptest.Server
	asked   chan string // holds what was asked
	replies chan string
}

func newSlowModel(t *testing.T) *slowModel {
	t.Helper()
	m := &slowModel{asked: make(chan string, 8), replies: make(chan string)}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		m.asked <- string(body)
		select {
		case reply := <-m.replies:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, reply)
		case <-r.Context().Done():
		}
	}))
	m.Config.SetKeepAlivesEnabled(false)
	m.Start()
	t.Cleanup(m.Close)
	return m
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
