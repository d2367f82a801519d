//go:build unix

package terminal

import (
	"io"
	"os"

	"github.com/muesli/cancelreader"
)

// Cancellable returns a reader of what is typed at r, whose reads end when release is called: what is
// typed after that is for the next reader. If r is no file, or cannot be polled, it is r itself.
func Cancellable(r io.Reader) (input io.Reader, release func()) {
	f, ok := r.(*os.File)
	if !ok {
		return r, func() {}
	}
	c, err := cancelreader.NewReader(f)
	if err != nil {
		return r, func() {}
	}
	return cancellable{c, f}, func() {
		c.Cancel()
		_ = c.Close() // it closes what it polls with, and not r
	}
}

// cancellable is a terminal whose reads can be cancelled.
type cancellable struct {
	cancelreader.CancelReader
	terminal *os.File
}

// Fd returns the descriptor of the terminal.
func (c cancellable) Fd() uintptr { return c.terminal.Fd() }
