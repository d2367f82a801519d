package main

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/orchestrator"
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

// at makes an event of frame 0, or of the frame 0.1 below it.
func at(frame string, seq int, text string, d orchestrator.Detail) orchestrator.Event {
	return orchestrator.Event{Run: "r", Frame: frame, Depth: strings.Count(frame, ".") + 1, Seq: seq, Text: text, Detail: d}
}
