package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/internal/waittest"
)

// TestTerminal_session goes on with a conversation at a terminal, where its second turn asks.
func TestTerminal_session(t *testing.T) {
	t.Parallel()
	state := "XDG_STATE_HOME=" + t.TempDir()
	turn := func(task string) *process {
		p := &process{Terminal: terminaltest.New(t), model: newSlowModel(t), dir: t.TempDir(), read: make(chan struct{}), env: []string{state}}
		p.start("run", "--session", "notes", "--base-url", p.model.URL, "--dir", p.dir, "--json", task)
		waittest.Receive(t, p.model.asked)
		return p
	}
	first := turn("first task")
	first.model.replies <- isDone
	first.end(cli.ExitDone, "done")
	second := turn("second task")
	second.model.replies <- wantsToWrite
	second.Await(mayWrite)
	second.Types("y\n")
	second.Await(mayWrite)
	second.Types("y\n")
	waittest.Receive(t, second.model.asked)
	second.model.replies <- isDone
	second.end(cli.ExitDone, "done")
	require.True(t, second.has("b"))
	require.Contains(t, second.stdout.String(), "first task", "the conversation so far")
	require.Contains(t, second.stdout.String(), `"run":"notes.2"`)
}
