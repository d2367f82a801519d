//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "io"

// discardTyped empties the input buffer of a terminal. It does nothing if r is not a terminal.
func discardTyped(r io.Reader) {
	if f, ok := r.(interface{ Fd() uintptr }); ok {
		flushInput(int(f.Fd()))
	}
}
