package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	*terminal
	dir    string
	model  *scripted.Client
	stdout bytes.Buffer
	ended  chan error
}

func begin(t *testing.T, approve string, more []tools.Tool, replies ...scripted.Reply) *session {
	t.Helper()
	return beginIn(t, t.TempDir(), approve, more, replies...)
}

// beginIn is begin in a folder that there is.
func beginIn(t *testing.T, dir, approve string, more []tools.Tool, replies ...scripted.Reply) *session {
	t.Helper()
	s := &session{terminal: newTerminal(t), dir: dir, model: scripted.New(replies...), ended: make(chan error, 1)}
	files, err := openFolder(s.dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = files.close() })
	c := &cli{stdin: s.input, stdout: &s.stdout, stderr: s, getenv: func(string) string { return "" }, interactive: true}
	out := output{form: oneOf(formText)}
	set, err := strategySet(settings{})
	require.NoError(t, err)
	j := job{
		client:     s.model,
		strategies: set,
		tools:      append(append(files.tools(), tools.AskUser()), more...),
		files:      files,
		approve:    newApprovals(approve, nil),
		task:       orchestrator.Task{Run: "r", Strategy: completetask.Name, Input: delegation.Input{Goal: "task"}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { s.ended <- c.perform(ctx, j, out, c.screen(out)) }()
	return s
}

// end waits for the end of the run and returns its exit code.
func (s *session) end() int {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return exitCode(err)
	case <-time.After(20 * time.Second):
		require.FailNow(s.t, "the run does not end", "%s", s.rest())
		return -1
	}
}

// wrote checks what is in the folder.
func (s *session) wrote(want map[string]string) {
	s.t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(s.dir)
	require.NoError(s.t, err)
	for _, e := range entries {
		data, err := os.ReadFile(s.dir + "/" + e.Name())
		require.NoError(s.t, err)
		got[e.Name()] = string(data)
	}
	require.Equal(s.t, want, got)
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
