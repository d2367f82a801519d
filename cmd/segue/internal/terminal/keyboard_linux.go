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
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}
