package approval

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/machine"
)

// NoteKey is the key that begins a note.
const NoteKey = '\t'

// The words for notes.
const (
	noteHint   = "Tab: note"
	notePrompt = "note > "
)

// Notes are what the user types for the run while it is at work. Tab begins one, and then questions
// wait until it is typed; while something is asked Tab is a key like others. The methods do nothing
// on nil, and are safe for concurrent use.
type Notes struct {
	asker *Asker
	input io.Reader
	out   io.Writer
	typed chan string

	over atomic.Bool
	keys atomic.Pointer[terminal.Keys] // that are listened to; nil: none are

	mu     sync.Mutex      // for what follows, and to set keys
	ctx    context.Context //nolint:containedctx // of the run, which begins later
	cancel context.CancelCauseFunc
	heard  chan struct{} // closed when the keys are not listened to any more
	ahead  []byte
}

// TakeNotes returns the notes for a run, typed at input and shown at out; nil if nothing shows
// there what the run does. Call it before the run.
func (a *Asker) TakeNotes(input io.Reader, out io.Writer) *Notes {
	if !a.screen.Live() {
		return nil
	}
	a.notes = &Notes{asker: a, input: input, out: out, typed: make(chan string, machine.MaxNotes)}
	return a.notes
}

var errRunEnded = errors.New("the run has ended")

// Begin begins to listen, and returns where the notes come. It may be called once.
func (n *Notes) Begin(ctx context.Context) <-chan string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	n.ctx, n.cancel = context.WithCancelCause(ctx)
	n.mu.Unlock()
	n.listen()
	return n.typed
}

// listen listens for the key, unless something is asked.
func (n *Notes) listen() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over.Load() || n.keys.Load() != nil || n.ctx == nil || n.ctx.Err() != nil || !n.asker.isIdle() {
		return
	}
	keys := terminal.OpenKeys(n.input)
	if keys == nil {
		return
	}
	n.keys.Store(keys)
	if n.over.Load() { // since a moment ago
		keys.Restore()
	}
	n.heard = make(chan struct{})
	n.asker.screen.Hint(noteHint)
	go n.hear(keys, n.heard)
}

// hear takes notes until nothing more can be read.
func (n *Notes) hear(keys *terminal.Keys, heard chan<- struct{}) {
	defer close(heard)
	defer keys.Close()
	for keys.Await(n.ctx, NoteKey) {
		t := n.asker.enterIdle()
		if t == nil {
			continue
		}
		n.take(keys)
		n.asker.leave(t)
	}
}

// take reads a note.
func (n *Notes) take(keys *terminal.Keys) {
	s := n.asker.screen
	s.HoldLine()
	line, err := keys.Line(n.ctx, n.out, notePrompt)
	s.FreeLine()
	line = strings.TrimSpace(plaintext.Printable(strings.ToValidUTF8(line, "")))
	switch {
	case err != nil && errors.Is(context.Cause(n.ctx), errRunEnded):
		s.Warn("the run ended before the note was typed")
	case err == nil && line != "":
		select {
		case n.typed <- line:
		default:
			s.Warn("the note is dropped: too many wait to be heard")
		}
	}
}

// pause ends the listening, before something is asked. What was typed is dropped.
func (n *Notes) pause() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.close()
}

// close ends the listening, and returns what was typed besides notes. The lock is held.
func (n *Notes) close() (ahead []byte) {
	keys := n.keys.Load()
	if keys == nil {
		return nil
	}
	keys.Close()
	<-n.heard
	ahead = keys.Ahead()
	n.keys.Store(nil)
	n.asker.screen.Hint("")
	return ahead
}

// Restore sets the modes of the terminal as they were, for good. It does not wait for anything.
func (n *Notes) Restore() {
	if n == nil {
		return
	}
	n.over.Store(true)
	if keys := n.keys.Load(); keys != nil {
		keys.Restore()
	}
}

// End ends the listening, because the run has ended. It says which notes the run has not taken.
func (n *Notes) End() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over.Store(true)
	if n.cancel != nil {
		n.cancel(errRunEnded)
	}
	n.ahead = append(n.ahead, n.close()...)
	for {
		select {
		case text := <-n.typed:
			n.asker.screen.Warn("the run ended before it took the note: " + plaintext.Head(text, terminal.TextColumns))
			continue
		default:
		}
		return
	}
}

// Ahead returns what was typed besides notes since something was asked last. Call it after End.
func (n *Notes) Ahead() []byte {
	if n == nil {
		return nil
	}
	return n.ahead
}
