package main

import (
	"bufio"
	"context"
	"io"
)

// keyboard reads the lines that somebody types. It is for one goroutine at a time.
//
// A read cannot be taken back: one whose line nobody waits for any more goes on, and ends with the
// next line, the end of the input, or the process. What it reads is forgotten.
type keyboard struct {
	r       *bufio.Reader
	forget  func() // forgets what was typed and is not read yet
	typed   chan typed
	reading bool
}

// typed is what came of a read.
type typed struct {
	line string
	err  error
}

func newKeyboard(r io.Reader) *keyboard {
	return &keyboard{r: bufio.NewReader(r), forget: func() { forgetTyped(r) }, typed: make(chan typed, 1)}
}

// ready forgets what was typed before now, so that it is not taken for an answer to what is asked
// next.
func (k *keyboard) ready() {
	select {
	case <-k.typed:
		k.reading = false
	default:
	}
	if !k.reading {
		_, _ = k.r.Discard(k.r.Buffered()) // there is as much
	}
	k.forget()
}

// line returns the next line, with its end. With an error the line is none.
func (k *keyboard) line(ctx context.Context) (string, error) {
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

func (k *keyboard) read() {
	line, err := k.r.ReadString('\n')
	k.typed <- typed{line: line, err: err}
}
