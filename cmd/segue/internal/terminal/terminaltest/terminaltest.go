// Package terminaltest provides a terminal for tests, and events to show on it.
package terminaltest

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
)

// Terminal is a simulated terminal for tests. Keys come from a pipe, so each line is read before
// the next one can be typed.
type Terminal struct {
	T     *testing.T
	Keys  io.Writer
	Input *io.PipeReader

	mu      sync.Mutex
	Shown   string
	seen    int // shown[:seen] was already awaited
	changed chan struct{}
}

// New returns an empty terminal.
func New(t *testing.T) *Terminal {
	t.Helper()
	input, keys := io.Pipe()
	t.Cleanup(func() { _ = keys.Close() })
	return &Terminal{T: t, Keys: keys, Input: input, changed: make(chan struct{}, 1)}
}

// Write shows b.
func (x *Terminal) Write(b []byte) (int, error) {
	x.mu.Lock()
	x.Shown += string(b)
	x.mu.Unlock()
	select {
	case x.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

// Await waits until want is shown after the text that was awaited before, and returns the text
// between them.
func (x *Terminal) Await(want string) string {
	x.T.Helper()
	patience := time.After(20 * time.Second)
	for {
		x.mu.Lock()
		between, _, found := strings.Cut(x.Shown[x.seen:], want)
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
			require.FailNow(x.T, "not shown", "%q in %q", want, between)
		}
	}
}

// AwaitAll waits until each text is shown, in any order.
func (x *Terminal) AwaitAll(wants ...string) {
	x.T.Helper()
	for _, want := range wants {
		x.mu.Lock()
		x.seen = 0
		x.mu.Unlock()
		x.Await(want)
	}
}

// Rest returns the text after the one that was awaited last.
func (x *Terminal) Rest() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.Shown[x.seen:]
}

// Types types keys.
func (x *Terminal) Types(keys string) {
	x.T.Helper()
	_, err := io.WriteString(x.Keys, keys)
	require.NoError(x.T, err)
}

// Event makes an event of frame 0, or of the frame 0.1 below it.
func Event(frame string, seq int, text string, d machine.Detail) machine.Event {
	return machine.Event{Run: "r", Frame: frame, Depth: strings.Count(frame, ".") + 1, Seq: seq, Text: text, Detail: d}
}
