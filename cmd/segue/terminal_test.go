package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// terminal is one in a test, seen by whoever sits there. Keys come out of a pipe, so that each line
// is read before the next one can be typed.
type terminal struct {
	t     *testing.T
	keys  io.Writer
	input *io.PipeReader

	mu      sync.Mutex
	shown   string
	seen    int // shown[:seen] has been awaited
	changed chan struct{}
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	input, keys := io.Pipe()
	t.Cleanup(func() { _ = keys.Close() })
	return &terminal{t: t, keys: keys, input: input, changed: make(chan struct{}, 1)}
}

// Write shows something.
func (x *terminal) Write(b []byte) (int, error) {
	x.mu.Lock()
	x.shown += string(b)
	x.mu.Unlock()
	select {
	case x.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

// await waits until want is shown, behind what was awaited before, and returns what stands between
// them.
func (x *terminal) await(want string) string {
	x.t.Helper()
	patience := time.After(20 * time.Second)
	for {
		x.mu.Lock()
		between, _, found := strings.Cut(x.shown[x.seen:], want)
		if found {
			x.seen += len(between) + len(want)
		}
		x.mu.Unlock()
		if found {
			return between
		}
		select {
		case <-x.changed:
		case <-patience:
			require.FailNow(x.t, "not shown", "%q in %q", want, between)
		}
	}
}

// awaitAll waits until each of them is shown, wherever.
func (x *terminal) awaitAll(wants ...string) {
	x.t.Helper()
	for _, want := range wants {
		x.mu.Lock()
		x.seen = 0
		x.mu.Unlock()
		x.await(want)
	}
}

// rest returns what was shown behind what was awaited.
func (x *terminal) rest() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown[x.seen:]
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	_, err := io.WriteString(x.keys, keys)
	require.NoError(x.t, err)
}

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
	t.Cleanup(func() { _ = files.root.Close() })
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
