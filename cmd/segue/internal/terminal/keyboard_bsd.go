//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// What reads the modes of a terminal, sets them at once, and counts what is typed and not read; and
// what stands in them for no key.
const (
	getModes  = unix.TIOCGETA
	setModes  = unix.TIOCSETA
	getUnread = 0x4004667f // FIONREAD
	noKey     = 0xff
)

func flushInput(terminal int) { _ = unix.IoctlSetPointerInt(terminal, unix.TIOCFLUSH, unix.TCIFLUSH) }
