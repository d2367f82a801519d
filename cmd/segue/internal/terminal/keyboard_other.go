//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package terminal

import "io"

// discardTyped would empty the buffer of a terminal, but there is no way known to do it here.
func discardTyped(io.Reader) {}
