//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/runs"
	"github.com/segue-go/segue/internal/waittest"
)

// keptRun is a run that is kept in a folder of its own, with a model that answers when it is told
// to.
type keptRun struct {
	t     *testing.T
	model *slowModel
	dir   string // the folder of its files
	home  string
}

func newKeptRun(t *testing.T) *keptRun {
	t.Helper()
	k := &keptRun{t: t, model: newSlowModel(t), dir: t.TempDir(), home: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "notes"), []byte("a note"), 0o600))
	return k
}

// command makes a command line; its standard error is read through stderr.
func (k *keptRun) command(args ...string) (cmd *exec.Cmd, stdout *bytes.Buffer, stderr *bufio.Reader) {
	k.t.Helper()
	cmd = exec.CommandContext(k.t.Context(), "segue", args...)
	cmd.Env = append(os.Environ(), "GORACE="+noSleep, "OPENAI_API_KEY="+canary, "XDG_STATE_HOME="+k.home)
	stdout = &bytes.Buffer{}
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	require.NoError(k.t, err)
	require.NoError(k.t, cmd.Start())
	return cmd, stdout, bufio.NewReader(pipe)
}

// begin begins the run.
func (k *keptRun) begin() (*exec.Cmd, *bytes.Buffer, *bufio.Reader) {
	k.t.Helper()
	return k.command("run", "--base-url", k.model.URL, "--dir", k.dir, "--approve", "always", "task")
}

// listed returns the only run that is kept.
func (k *keptRun) listed() runs.RunRecord {
	k.t.Helper()
	cmd, stdout, stderr := k.command("runs", "--output", "json")
	said, err := io.ReadAll(stderr)
	require.NoError(k.t, err)
	require.NoError(k.t, waittest.Exit(k.t, cmd), string(said))
	var runs []runs.RunRecord
	require.NoError(k.t, json.Unmarshal(stdout.Bytes(), &runs))
	require.Len(k.t, runs, 1)
	return runs[0]
}

// ends waits for the end of a command.
func (k *keptRun) ends(cmd *exec.Cmd, stderr io.Reader, code int) string {
	k.t.Helper()
	said, err := io.ReadAll(stderr)
	require.NoError(k.t, err)
	require.Equal(k.t, code, codeOf(k.t, waittest.Exit(k.t, cmd)), string(said))
	return string(said)
}

// TestCrash kills a run (kill -9) while its model is asked, kills the process that goes on with it,
// and goes on again: nothing is asked twice that was answered, and no key is kept.
func TestCrash(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	cmd, _, _ := k.begin()
	waittest.Receive(t, k.model.asked)
	k.model.replies <- listsFiles
	waittest.Receive(t, k.model.asked) // what came before is kept
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, waittest.Exit(t, cmd))
	require.Equal(t, 3, k.listed().Records)

	cmd, _, stderr := k.command("resume") // the lease of the dead process has to run out
	await(t, stderr, "run "+k.listed().Run+": another process had it a moment ago; waiting until that is not heard of for 10s")
	waittest.Receive(t, k.model.asked)
	k.model.replies <- writesFile
	waittest.Receive(t, k.model.asked)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, waittest.Exit(t, cmd))
	data, err := os.ReadFile(filepath.Join(k.dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	run := k.listed()
	require.Equal(t, "running", run.Status, "its process has died a moment ago")

	cmd, stdout, stderr := k.command("resume", "--take-over", run.Run[:8])
	waittest.Receive(t, k.model.asked)
	k.model.replies <- answersAll
	said := k.ends(cmd, stderr, cli.ExitDone)
	require.Equal(t, "All done.\n", stdout.String())
	require.NotContains(t, said, "write_file", "it was called before")
	require.Empty(t, k.model.asked)
	require.Equal(t, "done", k.listed().Status)
	k.keepsNo(canary)
}

// TestResume_last goes on with the last run, whose process was killed a moment ago, and not with an
// older one that waits. One that a process still works on is passed over.
func TestResume_last(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	waits, _, stderr := k.command("run", "--base-url", k.model.URL, "--dir", k.dir, "older")
	waittest.Receive(t, k.model.asked)
	k.model.replies <- writesFile
	k.ends(waits, stderr, cli.ExitWaiting)
	older := k.listed().Run

	cmd, _, _ := k.begin()
	waittest.Receive(t, k.model.asked)
	busy, _, stderr := k.command("resume")
	require.Contains(t, k.ends(busy, stderr, cli.ExitWaiting), "run "+older+" goes on")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, waittest.Exit(t, cmd))

	cmd, stdout, stderr := k.command("resume")
	waittest.Receive(t, k.model.asked)
	k.model.replies <- answersAll
	k.ends(cmd, stderr, cli.ExitDone)
	require.Equal(t, "All done.\n", stdout.String())
}

// says makes a turn of a chat, in a process of its own, and returns what the model was asked.
func (k *keptRun) says(session, text string) (asked string) {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), "segue", "chat", "--session", session, "--base-url", k.model.URL, "--output", "jsonl")
	cmd.Env = append(os.Environ(), "GORACE="+noSleep, "OPENAI_API_KEY="+canary, "XDG_STATE_HOME="+k.home)
	cmd.Stdin = strings.NewReader(text + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(k.t, cmd.Start())
	asked = waittest.Receive(k.t, k.model.asked)
	k.model.replies <- isDone
	require.Zero(k.t, codeOf(k.t, waittest.Exit(k.t, cmd)), out.String())
	return asked
}

// keepsNo looks for a text in the bytes of all files that are kept.
func (k *keptRun) keepsNo(secret string) {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.home, "segue", "*"))
	require.NoError(k.t, err)
	require.NotEmpty(k.t, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(k.t, err)
		require.NotContains(k.t, string(data), secret)
	}
}

// TestInterrupt_kept sends signals to a run that is kept: each says how to go on, and it works.
func TestInterrupt_kept(t *testing.T) {
	for sent, how := range map[syscall.Signal]struct {
		code int
		word string
	}{syscall.SIGINT: {cli.ExitInterrupted, "interrupted"}, syscall.SIGTERM: {cli.ExitTerminated, "terminated"}, syscall.SIGHUP: {cli.ExitHungUp, ""}} {
		t.Run(sent.String(), func(t *testing.T) {
			t.Parallel()
			k := newKeptRun(t)
			cmd, _, stderr := k.begin()
			waittest.Receive(t, k.model.asked)
			k.model.replies <- writesFile
			waittest.Receive(t, k.model.asked)
			require.NoError(t, cmd.Process.Signal(sent))
			line := "resume"
			if sent == syscall.SIGHUP { // nobody reads what it says
				k.ends(cmd, stderr, how.code)
			} else {
				await(t, stderr, "segue: interrupting the run; press Ctrl-C again to end at once; either way it goes on with: segue resume")
				said := k.ends(cmd, stderr, how.code)
				var ok bool
				_, line, ok = strings.Cut(said, "segue: "+how.word+"; go on with: segue ")
				require.True(t, ok, said)
				run := strings.TrimPrefix(strings.TrimSpace(line), "resume ")
				require.Contains(t, said, "\nsee what it did with: segue show "+run+"\nlist all runs with: segue runs\n")
			}
			require.Equal(t, "interrupted", k.listed().Status)

			cmd, stdout, stderr := k.command(strings.Fields(line)...)
			waittest.Receive(t, k.model.asked)
			k.model.replies <- answersAll
			require.NotContains(t, k.ends(cmd, stderr, cli.ExitDone), "write_file")
			require.Equal(t, "All done.\n", stdout.String())
		})
	}
}

// TestStop_running stops a run from another process while its model is asked, and leaves alone one
// that another process works on.
func TestStop_running(t *testing.T) {
	t.Parallel()
	k := newKeptRun(t)
	cmd, _, stderr := k.begin()
	waittest.Receive(t, k.model.asked)
	run := k.listed()
	require.True(t, run.AtWork)
	busy, _, busyErr := k.command("resume", run.Run)
	require.Contains(t, k.ends(busy, busyErr, cli.ExitUsage), "segue: another process works on the run; answer and stop reach it there (segue stop "+run.Run+"), and --take-over takes the run from it")
	forget, _, forgetErr := k.command("forget", run.Run)
	require.Contains(t, k.ends(forget, forgetErr, cli.ExitFailed), "segue: nothing is erased: a process works on run "+run.Run)
	stop, stdout, stopErr := k.command("stop", "--now", run.Run)
	k.ends(stop, stopErr, cli.ExitDone)
	require.Equal(t, "the process that works on the run ends it in a moment\n", stdout.String())
	require.Contains(t, k.ends(cmd, stderr, cli.ExitInterrupted), "stop was asked for")
	require.Equal(t, "stopped", k.listed().Status)
}
