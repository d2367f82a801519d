package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/doctor/doctortest"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// startDoctor begins segue doctor at a terminal of so many columns.
func startDoctor(t *testing.T, columns uint16, s *doctortest.Server) *process {
	t.Helper()
	p := &process{Terminal: terminaltest.New(t), read: make(chan struct{})}
	user, tty := pseudoTerminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	p.Keys = user
	p.cmd = exec.CommandContext(t.Context(), "segue", "doctor")
	p.cmd.Env = append(os.Environ(), "GORACE="+noSleep, "OPENAI_BASE_URL="+s.Base(), "OPENAI_API_KEY="+doctortest.Key, "XDG_STATE_HOME="+t.TempDir())
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	require.NoError(t, tty.Close())
	go func() {
		defer close(p.read)
		_, _ = io.Copy(p.Terminal, user) // it ends with an error: the process is gone
	}()
	return p
}

// TestTerminal_doctor examines a server at terminals of 40 and of 80 columns: no line is broken by
// the terminal.
func TestTerminal_doctor(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 80} {
		p := startDoctor(t, columns, doctortest.New(t, "no_tools", "schema_refused"))
		require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, p.cmd)))
		waittest.Receive(t, p.read)
		shown := strings.ReplaceAll(p.Rest(), "\r\n", "\n")
		require.Contains(t, shown, "policy: fenced\n")
		require.Contains(t, shown, "set     tool calls: none\n")
		widest := 0
		for line := range strings.Lines(shown) {
			widest = max(widest, plaintext.CellsOf(strings.TrimSuffix(line, "\n")))
		}
		require.LessOrEqual(t, widest, int(columns))
		require.Greater(t, widest, int(columns)-12, "the terminal is used")
	}
}

// TestTerminal_doctorInterrupted presses Ctrl-C while a server is silent.
func TestTerminal_doctorInterrupted(t *testing.T) {
	t.Parallel()
	p := startDoctor(t, 80, doctortest.New(t, "silent"))
	p.Await(", model gpt-5-mini")
	p.Types("\x03")
	code := codeOf(t, waittest.Exit(t, p.cmd))
	waittest.Receive(t, p.read)
	require.Equal(t, cli.ExitInterrupted, code, p.Shown)
	rest := p.Rest()
	require.Contains(t, rest, "segue: interrupted\r\n")
	require.NotContains(t, rest, "broken", "it is no fault of the server")
}
