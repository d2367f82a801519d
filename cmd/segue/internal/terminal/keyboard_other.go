//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package main

import "io"

// forgetTyped would empty the buffer of a terminal, but there is no way known to do it here.
func forgetTyped(io.Reader) {}
