package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/cmd/run"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// session is a run of a scripted model with somebody at a terminal. Its tools are ask_user, those
// for the files of dir, and more.
type session struct {
	*terminaltest.Terminal
	dir    string
	model  *scripted.Client
	stdout bytes.Buffer
	ended  chan error
}

func begin(t *testing.T, word string, more []tools.Tool, replies ...scripted.Reply) *session {
	t.Helper()
	return beginIn(t, t.TempDir(), word, more, replies...)
}

// beginIn is begin in a folder that there is.
func beginIn(t *testing.T, dir, word string, more []tools.Tool, replies ...scripted.Reply) *session {
	t.Helper()
	s := &session{Terminal: terminaltest.New(t), dir: dir, model: scripted.New(replies...), ended: make(chan error, 1)}
	files, err := workfolder.Open(s.dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	c := &cli.CLI{Stdin: s.Input, Stdout: &s.stdout, Stderr: s, Getenv: func(string) string { return "" }, Interactive: true}
	out := cli.Output{Form: cli.OneOf(cli.FormText)}
	set, err := strategies.Set(strategies.Settings{})
	require.NoError(t, err)
	j := run.Job{
		Client:     s.model,
		Strategies: set,
		Tools:      append(append(files.Tools(), tools.AskUser()), more...),
		Files:      files,
		Approve:    approve.Policies{Default: word}.Judge,
		Task:       orchestrator.Task{Run: "r", Strategy: completetask.Name, Input: delegation.Input{Goal: "task"}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { s.ended <- run.Perform(ctx, c, j, out, c.Screen(out)) }()
	return s
}

// end waits for the end of the run and returns its exit code.
func (s *session) end() int {
	s.T.Helper()
	select {
	case err := <-s.ended:
		return cli.ExitCode(err)
	case <-time.After(time.Minute):
		require.FailNow(s.T, "the run does not end", "%s", s.Rest())
		return -1
	}
}

// wrote checks what is in the folder.
func (s *session) wrote(want map[string]string) {
	s.T.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(s.dir)
	require.NoError(s.T, err)
	for _, e := range entries {
		data, err := os.ReadFile(s.dir + "/" + e.Name())
		require.NoError(s.T, err)
		got[e.Name()] = string(data)
	}
	require.Equal(s.T, want, got)
}

// toolOutputs are the results that a model was given last.
func toolOutputs(req llmclient.Request) []string {
	var outputs []string
	for _, m := range req.Messages {
		if m, ok := m.(messages.Tool); ok {
			outputs = append(outputs, m.Output)
		}
	}
	return outputs
}
