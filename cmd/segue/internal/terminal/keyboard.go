package terminal

import (
	"bufio"
	"context"
	"io"
)

// Keyboard reads the lines that somebody types. It is for one goroutine at a time.
//
// A read cannot be taken back: one whose line nobody waits for any more goes on, and ends with the
// next line, the end of the input, or the process. What it reads is forgotten.
type Keyboard struct {
	r       *bufio.Reader
	discard func() // forgets what was typed and is not read yet
	typed   chan typedLine
	reading bool
}

// typedLine is what came of a read.
type typedLine struct {
	line string
	err  error
}

// NewKeyboard returns a keyboard whose lines come from r.
func NewKeyboard(r io.Reader) *Keyboard {
	return &Keyboard{r: bufio.NewReader(r), discard: func() { discardTyped(r) }, typed: make(chan typedLine, 1)}
}

// DiscardTyped forgets what was typed before now, so that it is not taken for an answer to what is
// asked next.
func (k *Keyboard) DiscardTyped() {
	select {
	case <-k.typed:
		k.reading = false
	default:
	}
	if !k.reading {
		_, _ = k.r.Discard(k.r.Buffered()) // there is as much
	}
	k.discard()
}

// ReadLine returns the next line, with its end. With an error the line is none.
func (k *Keyboard) ReadLine(ctx context.Context) (string, error) {
	if !k.reading {
		k.reading = true
		go k.read()
	}
	select {
	case t := <-k.typed:
		k.reading = false
		return t.line, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (k *Keyboard) read() {
	line, err := k.r.ReadString('\n')
	k.typed <- typedLine{line: line, err: err}
}
