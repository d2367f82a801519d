//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped empties the buffer in which a terminal keeps what was typed and not read. Of what is
// no terminal it forgets nothing.
func discardTyped(r io.Reader) {
	if f, ok := r.(*os.File); ok {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH)
	}
}
