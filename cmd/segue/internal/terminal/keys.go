package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/lineedit"
)

// Keys are what is typed at a terminal, key by key. The terminal shows none of it; Ctrl-C and
// Ctrl-Z are signals as ever, and a process that Ctrl-Z stops leaves the terminal as it was
// meanwhile. Close may be called from any goroutine; the other methods are for one at a time.
type Keys struct {
	modes   *keyModes
	release func()
	chunks  chan []byte // what is read, together as it came
	rest    []byte      // of the last chunk
	closing chan struct{}
	once    sync.Once
	work    sync.WaitGroup
	events  chan error // what happens to the terminal, for an editor
	ahead   []byte     // what was typed besides the key that was awaited
	late    []byte     // what nobody has asked for
}

// maxAhead is how much is kept of what is typed before anybody asks for it.
const maxAhead = 4 << 10

// OpenKeys begins to read the keys of the terminal at r. It returns nil where that cannot be done:
// r is no terminal, the process is in the background there, or the system has no such terminals.
func OpenKeys(r io.Reader) *Keys { return openKeys(r, false) }

// openKeys is OpenKeys, where Ctrl-C may be a key as well, in its turn.
func openKeys(r io.Reader, all bool) *Keys {
	f := FileOf(r)
	if f == nil {
		return nil
	}
	input, release := Cancellable(f)
	if input == io.Reader(f) {
		return nil
	}
	modes := quietKeys(f, all)
	if modes == nil {
		release()
		return nil
	}
	k := &Keys{
		modes: modes, release: sync.OnceFunc(release), chunks: make(chan []byte), closing: make(chan struct{}),
		events: make(chan error, 1),
	}
	k.work.Go(func() { k.read(input) })
	k.work.Go(func() {
		if !modes.outlive(k.closing, k.happens) {
			k.release() // or the next read would stop the process
		}
	})
	return k
}

// read passes on what is typed, until nothing more can be read.
func (k *Keys) read(input io.Reader) {
	defer close(k.chunks)
	for {
		b := make([]byte, 256)
		n, err := input.Read(b)
		k.modes.mend(b[:n])
		if n > 0 {
			select {
			case k.chunks <- b[:n]:
			case <-k.closing:
				k.late = b[:n]
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Restore sets the modes of the terminal as they were, for good. It does not block, and may be
// called from any goroutine.
func (k *Keys) Restore() { k.modes.end() }

// Close ends the reading and restores the terminal. What is typed from now on is for the next
// reader.
func (k *Keys) Close() {
	k.once.Do(func() {
		close(k.closing)
		k.release()
		k.work.Wait()
		k.modes.end()
	})
}

// Ahead returns what was typed besides the keys that were awaited, up to a few KiB. Call it after
// Close.
func (k *Keys) Ahead() []byte { return slices.Concat(k.ahead, k.rest, k.late) }

// Await waits for a key. What is typed before it is kept for Ahead. It returns false when ctx ends,
// or when nothing more can be read.
func (k *Keys) Await(ctx context.Context, key byte) bool {
	for {
		b, err := k.next(ctx, nil)
		switch {
		case errors.Is(err, lineedit.ErrAnew), errors.Is(err, lineedit.ErrResized):
		case err != nil:
			return false
		case b == key:
			return true
		case len(k.ahead) < maxAhead:
			k.ahead = append(k.ahead, b)
		}
	}
}

// next returns the next byte that is typed, as [lineedit.Terminal] has it.
func (k *Keys) next(ctx context.Context, patience <-chan time.Time) (byte, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if len(k.rest) == 0 {
		select {
		case chunk, ok := <-k.chunks:
			if !ok {
				return 0, io.ErrUnexpectedEOF
			}
			k.rest = chunk
		case <-patience:
			return 0, lineedit.ErrNoKey
		case what := <-k.events:
			return 0, what
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	b := k.rest[0]
	k.rest = k.rest[1:]
	return b, nil
}

// Line lets the user type a line at the terminal out, behind a prompt. Of what is pasted, line
// breaks become blanks. Esc, and Ctrl-D in an empty line, remove the line: the error is
// [lineedit.ErrEscaped]. With any other error, when ctx ends or nothing more can be read, the line
// stays on the screen.
func (k *Keys) Line(ctx context.Context, out io.Writer, prompt string) (string, error) {
	return lineedit.New(lineedit.Config{Prompt: prompt}).Edit(k.at(ctx, out), "")
}

// at returns the terminal out for an editor, with these keys until ctx ends.
func (k *Keys) at(ctx context.Context, out io.Writer) lineedit.Terminal {
	return lineedit.Terminal{Out: out, Size: sizeOf(out), Next: func(patience <-chan time.Time) (byte, error) {
		return k.next(ctx, patience)
	}}
}

// happens has an editor know what happens to the terminal.
func (k *Keys) happens(what error) {
	select {
	case k.events <- what:
	default: // it does not look
	}
}

// escapes are letters beyond ASCII that JSON holds as escapes, as many servers write them, with the
// backslashes before them: after an odd number of these it is no escape.
var escapes = regexp.MustCompile(`\\*(?:\\u[0-9A-Fa-f]{4})+`)

// unescaped returns a JSON text with the letters that its escapes stand for, for people to read.
// Other escapes stay, such as that of a line break or of a mark that is not seen.
func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(all string) string {
		before := 0
		for all[before] == '\\' {
			before++
		}
		if before%2 == 0 {
			return all // a backslash, and then u
		}
		var letters string
		if json.Unmarshal([]byte(`"`+all[before-1:]+`"`), &letters) != nil {
			return all
		}
		for _, r := range letters {
			if r < 0x80 || !strconv.IsPrint(r) || r == '\ufffd' {
				return all
			}
		}
		return all[:before-1] + letters
	})
}
