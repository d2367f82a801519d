package terminal

import (
	"bufio"
	"context"
	"io"
)

// Keyboard reads typed lines. It is not safe for concurrent use.
//
// A read cannot be cancelled. When ReadLine returns because its context has ended, the read
// continues until the next line, the end of the input, or the end of the process; that line is
// dropped.
type Keyboard struct {
	source  io.Reader
	r       *bufio.Reader
	discard func() // drops typed input that was not read yet
	typed   chan typedLine
	reading bool
}

// typedLine is the result of a read.
type typedLine struct {
	line string
	err  error
}

// NewKeyboard returns a keyboard whose lines come from r.
func NewKeyboard(r io.Reader) *Keyboard {
	return &Keyboard{source: r, r: bufio.NewReader(r), discard: func() { discardTyped(r) }, typed: make(chan typedLine, 1)}
}

// DiscardTyped drops everything typed so far, so that it does not answer the next question.
func (k *Keyboard) DiscardTyped() {
	select {
	case <-k.typed:
		k.reading = false
	default:
	}
	if !k.reading {
		_, _ = k.r.Discard(k.r.Buffered()) // cannot fail: that much is buffered
	}
	k.discard()
}

// ReadLine returns the next line, including its newline. If it returns an error, the line is empty.
func (k *Keyboard) ReadLine(ctx context.Context) (string, error) {
	if !k.reading {
		k.reading = true
		go k.read()
	}
	return k.await(ctx)
}

func (k *Keyboard) read() {
	line, err := k.r.ReadString('\n')
	k.typed <- typedLine{line: line, err: err}
}

// await waits for what is typed.
func (k *Keyboard) await(ctx context.Context) (string, error) {
	select {
	case t := <-k.typed:
		k.reading = false
		return t.line, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
