package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// TestTerminal_eval shows how far an evaluation is on one line. Ctrl-C ends it, and the same
// command goes on with it.
func TestTerminal_eval(t *testing.T) {
	t.Parallel()
	cases := filepath.Join(t.TempDir(), "cases.jsonl")
	require.NoError(t, os.WriteFile(cases, []byte(`{"name":"a","goal":"first","answer":{"equals":"done"}}
{"name":"b","goal":"second","answer":{"equals":"done"}}
`), 0o600))
	state, model := "XDG_STATE_HOME="+t.TempDir(), newSlowModel(t)
	begin := func() *process {
		p := &process{Terminal: terminaltest.New(t), model: model, read: make(chan struct{}), env: []string{state}, width: 100}
		p.start("eval", "--config", "", "--parallel", "1", "--base-url", model.URL, cases)
		return p
	}
	first := begin()
	require.Contains(t, waittest.Receive(t, model.asked), "first")
	model.replies <- isDone
	first.Await("1 of 2, 1 passed")
	require.Contains(t, waittest.Receive(t, model.asked), "second")
	first.Types("\x03")
	require.Equal(t, cli.ExitInterrupted, codeOf(t, waittest.Exit(t, first.cmd)))
	waittest.Receive(t, first.read)
	require.Regexp(t, `segue: interrupted: 1 of 2 trials are done, and kept in`, first.Shown)

	second := begin()
	require.Contains(t, waittest.Receive(t, model.asked), "second")
	model.replies <- isDone
	require.Equal(t, cli.ExitDone, codeOf(t, waittest.Exit(t, second.cmd)))
	waittest.Receive(t, second.read)
	require.Regexp(t, `where 1 of 2 trials are`, second.Shown)
	require.Contains(t, second.Shown, "2 of 2")
}
