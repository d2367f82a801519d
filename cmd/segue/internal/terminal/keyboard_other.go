//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package terminal

import "io"

// discardTyped does nothing: there is no known way to empty the buffer of a terminal on this
// system.
func discardTyped(io.Reader) {}
