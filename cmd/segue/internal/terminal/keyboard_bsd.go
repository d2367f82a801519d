//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

func flushInput(terminal int) { _ = unix.IoctlSetPointerInt(terminal, unix.TIOCFLUSH, unix.TCIFLUSH) }
