package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped empties the buffer in which a terminal keeps what was typed and not read. Of what is
// no terminal it forgets nothing.
func forgetTyped(r io.Reader) {
	if f, ok := r.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}
