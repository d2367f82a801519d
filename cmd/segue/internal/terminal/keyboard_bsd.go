//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// What reads the modes of a terminal, sets them at once, and counts what is typed and not read.
const (
	getModes  = unix.TIOCGETA
	setModes  = unix.TIOCSETA
	getUnread = 0x4004667f // FIONREAD
)

func flushInput(terminal int) { _ = unix.IoctlSetPointerInt(terminal, unix.TIOCFLUSH, unix.TCIFLUSH) }
