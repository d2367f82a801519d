//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"io"
	"os"
)

// discardTyped empties the buffer in which a terminal keeps what was typed and not read. Of what is
// no terminal it forgets nothing.
func discardTyped(r io.Reader) {
	if f, ok := r.(*os.File); ok {
		flushInput(int(f.Fd()))
	}
}
