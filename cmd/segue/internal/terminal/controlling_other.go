//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package terminal

import "os"

// Controlling returns nil: there is no known way to open the terminal of a process on this system.
func Controlling() *os.File { return nil }
