package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// sized gives the terminal of a process a width.
func (p *process) sized(columns uint16) {
	p.T.Helper()
	tty, ok := p.Keys.(*os.File)
	require.True(p.T, ok)
	raw, err := tty.SyscallConn()
	require.NoError(p.T, err)
	require.NoError(p.T, raw.Control(func(fd uintptr) {
		require.NoError(p.T, unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	}))
}

// TestTerminal_hangup closes the terminal of a run while its answer comes: the run is kept with
// what had come, and goes on elsewhere.
func TestTerminal_hangup(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--output", "jsonl"}} {
		k := newKeptRun(t)
		p := &process{Terminal: terminaltest.New(t), read: make(chan struct{}), env: []string{"XDG_STATE_HOME=" + k.home}}
		p.start(append([]string{"run", "--base-url", halfAnswer(t).URL, "task"}, args...)...)
		p.Await("The quick brown")
		tty, ok := p.Keys.(*os.File)
		require.True(t, ok)
		require.NoError(t, tty.Close())
		waittest.Receive(t, p.read)
		require.Equal(t, cli.ExitHungUp, codeOf(t, waittest.Exit(t, p.cmd)))
		require.Equal(t, "interrupted", k.listed().Status)

		if args == nil {
			cmd, stdout, stderr := k.command("show", k.listed().Run)
			k.ends(cmd, stderr, cli.ExitDone)
			require.Contains(t, stdout.String(), "kept for the model, when the run goes on\n  | an answer broke off here: The quick brown")
		}
		cmd, stdout, stderr := k.command("resume", "--base-url", k.model.URL)
		waittest.Receive(t, k.model.asked)
		k.model.replies <- answersAll
		said := k.ends(cmd, stderr, cli.ExitDone)
		require.Equal(t, "All done.\n", stdout.String())
		if args == nil { // else the output broke off before the run
			require.Contains(t, said, "note: an answer broke off here: The quick brown")
		}
	}
}

// failing is a writer that fails with an error.
type failing struct{ error }

func (w failing) Write([]byte) (int, error) { return 0, w.error }

// TestRun_hungUp writes to a terminal that was closed, before a signal says so or without one, and
// to what only fails in the same way.
func TestRun_hungUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	user, closed := pseudoTerminal(t)
	require.NoError(t, user.Close())
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	for _, args := range [][]string{{"demo", "-q"}, {"demo", "-q", "--json"}, {"demo", "-q", "--output", "jsonl"}, {"graph", "complete-task"}} {
		ends := func(code int, said string, stdout io.Writer) {
			var stderr bytes.Buffer
			none := func(string) string { return "" }
			require.Equal(t, code, execute(args, strings.NewReader(""), stdout, &stderr, none), args)
			require.Equal(t, said, stderr.String(), args)
		}
		ends(cli.ExitHungUp, "segue: hung up\n", closed)
		ends(cli.ExitFailed, "segue: cannot write the output: write /dev/full: no space left on device\n", full)
		ends(cli.ExitFailed, "segue: cannot write the output: input/output error\n", failing{unix.EIO})
	}
}

// TestTerminal_goesOn presses Ctrl-C while an answer comes, at terminals of two widths, and pastes
// the lines that say how to go on into a shell.
func TestTerminal_goesOn(t *testing.T) {
	t.Parallel()
	bin, err := exec.LookPath("segue")
	require.NoError(t, err)
	for _, columns := range []uint16{40, 80} {
		k := newKeptRun(t)
		store := filepath.Join(k.home, "it's mine.db")
		p := &process{Terminal: terminaltest.New(t), read: make(chan struct{})}
		p.start("run", "--store", store, "--base-url", halfAnswer(t).URL, "task")
		p.sized(columns)
		p.Await("The quick brown")
		p.Types("\x03")
		require.Equal(t, cli.ExitInterrupted, codeOf(t, waittest.Exit(t, p.cmd)))
		waittest.Receive(t, p.read)
		rest := strings.ReplaceAll(p.Rest(), "with:\r\n  segue ", "with: segue ") // a command is in one row, as far as it fits
		require.Contains(t, rest, "\nThe quick brown\r\n")
		for _, said := range []struct{ before, has string }{
			{"see what it did with: ", "interrupted"},
			{"list all runs with: ", "interrupted"},
			{"segue: interrupted; go on with: ", "All done."},
			{"goes on with: ", "no run waits"},
		} {
			_, line, ok := strings.Cut(rest, said.before)
			require.True(t, ok, rest)
			line, _, _ = strings.Cut(line, "\r\n")
			shell := exec.CommandContext(t.Context(), "sh", "-c", line)
			shell.Env = append(os.Environ(), "GORACE="+noSleep, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
			if strings.Contains(line, "resume") && said.has == "All done." {
				shell.Args[2] += " --base-url " + k.model.URL
				go func() {
					<-k.model.asked
					k.model.replies <- answersAll
				}()
			}
			out, _ := shell.CombinedOutput() // the last one fails: nothing is left to go on with
			require.Contains(t, string(out), said.has, line)
		}
	}
}
