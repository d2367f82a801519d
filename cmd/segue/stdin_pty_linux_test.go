package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// fedAtTerminal starts a run at a terminal of so many columns, with a pipe as standard input.
func fedAtTerminal(t *testing.T, columns uint16, fed string, args ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = w.WriteString(fed)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Cleanup(func() { _ = r.Close() })
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), stdin: r}
	p.start(append([]string{"run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json"}, args...)...)
	require.NoError(t, unix.IoctlSetWinsize(int(p.Keys.(*os.File).Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 12, Col: columns}))
	return p
}

// Where only standard input is a pipe, questions and approvals are asked at the terminal.
func TestTerminal_asksBesideAPipe(t *testing.T) {
	for name, columns := range map[string]uint16{"40 columns": 40, "80 columns": 80} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fedAtTerminal(t, columns, "y\ny\n", "Copy this")
			require.Contains(t, waittest.Receive(t, p.model.asked), `"name":"ask_user"`)
			p.model.replies <- wantsToWrite
			p.Await("a always below ./ > ")
			p.Types("y\n")
			p.Await("a always below ./ > ")
			p.Types("n\n")
			p.Await("Enter) > ")
			p.Types("\n")
			require.Contains(t, waittest.Receive(t, p.model.asked), `Copy this\n\nThis came from standard input`)
			p.model.replies <- wantsToKnow
			p.Await(yourTurn)
			p.Types("\x04")
			p.Await("was given none")
			p.end(cli.ExitWaiting, "waiting")
			require.True(t, p.has("a"))
			require.False(t, p.has("b"))
		})
	}
}

// With the null device as standard input nobody is asked, whatever the terminal.
func TestTerminal_nullDevice(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), stdin: null}
	p.start("run", "--store", "none", "--base-url", p.model.URL, "--dir", p.dir, "--json", "task")
	require.NotContains(t, waittest.Receive(t, p.model.asked), `"name":"ask_user"`)
	p.model.replies <- wantsToWrite
	p.Await("nobody can be asked here")
	p.end(cli.ExitWaiting, "waiting")
}
