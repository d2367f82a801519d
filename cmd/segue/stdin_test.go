package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/internal/waittest"
)

// cliReading is a segue whose standard input is a pipe, and that reads its task.
func cliReading(t *testing.T, how string) (pipe *io.PipeWriter, stderr *bytes.Buffer, end func() (run.Task, error)) {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	stderr = &bytes.Buffer{}
	c := &cli.CLI{Stdin: r, Stderr: stderr, Getenv: func(string) string { return "" }}
	type result struct {
		run.Task
		error
	}
	ended := make(chan result, 1)
	go func() {
		task, err := run.ReadTask(c, "Explain", how, c.Screen(cli.Output{}))
		ended <- result{task, err}
	}()
	return w, stderr, func() (run.Task, error) {
		r := waittest.Receive(t, ended)
		return r.Task, r.error
	}
}

// A pipe that nobody writes to does not hold the run up, and it is said.
func TestStdin_nobodyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, stderr, end := cliReading(t, run.StdinAuto)
		began := time.Now()
		got, err := end()
		require.NoError(t, err)
		require.Equal(t, "Explain", got.Goal())
		require.Equal(t, run.StdinPatience, time.Since(began))
		require.Contains(t, stderr.String(), "nothing came from standard input for 5s: going on without it; --stdin wait waits for it")
		require.NoError(t, pipe.Close())
	})
}

// Once the first byte has come, all of it is awaited; with --stdin wait the first byte too.
func TestStdin_slow(t *testing.T) {
	for how, first := range map[string]time.Duration{run.StdinAuto: run.StdinPatience - 1, run.StdinWait: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			pipe, stderr, end := cliReading(t, how)
			time.Sleep(first)
			_, err := pipe.Write([]byte("one "))
			require.NoError(t, err)
			time.Sleep(time.Hour)
			_, err = pipe.Write([]byte("two"))
			require.NoError(t, err)
			require.NoError(t, pipe.Close())
			got, err := end()
			require.NoError(t, err)
			require.Equal(t, "one two", got.Joined)
			require.Contains(t, stderr.String(), "waiting for standard input, which is joined to the task")
		})
	}
}

func TestStdinText(t *testing.T) {
	for name, tt := range map[string]struct{ in, want, problem string }{
		"a byte order mark":  {in: "\ufeffone", want: "one"},
		"zero bytes":         {in: "o\x00n\x00e\x00", problem: "standard input holds zero bytes, as UTF-16"},
		"as much as may be":  {in: strings.Repeat("a", run.MaxStdin), want: strings.Repeat("a", run.MaxStdin)},
		"one byte too many":  {in: strings.Repeat("a", run.MaxStdin+1), problem: "standard input has more than 4 MiB"},
		"a broken character": {in: "caf\xe9", problem: "standard input is not UTF-8 text"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run.StdinText(strings.NewReader(tt.in))
			if tt.problem != "" {
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			require.Len(t, got, len(tt.want)) // not the texts, which may be long
			require.True(t, strings.HasPrefix(got, tt.want))
		})
	}
}

// The null device, as cron and services have it, is not read; a pipe that stays open does not hang.
func TestStdin_ofProcesses(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	t.Cleanup(func() { _ = null.Close() })
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	for name, tt := range map[string]struct {
		stdin *os.File
		said  bool
	}{"null device": {null, false}, "open pipe": {r, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newSlowModel(t)
			cmd := exec.CommandContext(t.Context(), "segue", "run", "--store", "none", "--base-url", k.URL, "Explain")
			cmd.Env = append(os.Environ(), "GORACE="+noSleep)
			var stdout, stderr bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tt.stdin, &stdout, &stderr
			require.NoError(t, cmd.Start())
			waittest.Receive(t, k.asked)
			k.replies <- isDone
			require.NoError(t, waittest.Exit(t, cmd), stderr.String())
			require.Equal(t, "done\n", stdout.String())
			require.Equal(t, tt.said, strings.Contains(stderr.String(), "nothing came from standard input"), stderr.String())
		})
	}
}
